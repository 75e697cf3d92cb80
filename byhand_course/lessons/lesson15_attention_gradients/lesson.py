# %% [markdown]
# Attention is the one place where tokens meet, so its gradient has the longest way to go. You take
# it backwards, one forward step at a time: first softmax, the hardest part, then the whole head,
# then the heads with their four matrices.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

softmax, numerical_gradient = mine("softmax"), mine("numerical_gradient")
qkv, attention, causal_mask = mine("qkv"), mine("attention"), mine("causal_mask")
split_heads, merge_heads = mine("split_heads"), mine("merge_heads")
multi_head_attention, linear_backward = mine("multi_head_attention"), mine("linear_backward")
tokens = ["<BOS>", "I", "like", "transformers", "<EOS>"]

# %% [markdown]
# **Softmax.** **Forward, this was** $p_i = e^{s_i} / \sum_k e^{s_k}$: every score stands in every sum.
# **So now**: if one score is pushed a little, *all* weights of the row move, and no slope of the
# Jacobian (lesson 14) is 0. Here are scores whose softmax is <<p>>. Measure the nine slopes:


# %%
def jacobian(f, row):
    outputs = range(len(f(row)))
    return np.array([numerical_gradient(lambda x, i=i: f(x)[i], row) for i in outputs])


scores, weights = np.log([0.5, 0.3, 0.2]), ["weight 0", "weight 1", "weight 2"]
moved = ["score 0", "score 1", "score 2"]
show_matrix(jacobian(softmax, scores), rows=weights, columns=moved, caption="Jacobian of softmax")

# %% [markdown]
# Where do they come from? Lesson 12 had $\ln p_i = s_i - \ln \sum_k e^{s_k}$. Push $s_j$. The first
# term moves along if $i = j$, and else stays: write $[i = j]$ for that 1 or 0. The slope of a
# logarithm is the slope of what stands inside, divided by it: here $e^{s_j} / \sum_k e^{s_k} = p_j$.

# %%
logs = jacobian(lambda s: np.log(softmax(s)), scores)
show_matrix(logs, rows=["ln p_0", "ln p_1", "ln p_2"], columns=moved, caption="1 or 0, minus p_j")

# %% [markdown]
# So $\ln p_i$ has the slope $[i = j] - p_j$. It is a logarithm too: its slope is that of $p_i$,
# divided by $p_i$. Multiply by $p_i$:
#
# $$\frac{\partial p_i}{\partial s_j} = p_i\,([i = j] - p_j)$$
#
# For <<p>>:
#
# $$<<jacobian_products>> = <<jacobian>>$$
#
# the numbers that you measured.

# %%
p = np.array([0.5, 0.3, 0.2])
slopes = np.diag(p) - np.outer(p, p)  # the formula, written out
print(f"worst difference: {np.abs(slopes - jacobian(softmax, scores)).max():.0e}")
print("sum of each row: ", np.abs(slopes.sum(axis=1)).round(10))

# %% [markdown]
# Rows sum to 0: the same push to all scores moves nothing (lesson 3).
#
# Now a gradient arrives at the weights: $g = <<g>>$. Score 0 moved all three, so it collects from all
# three, down column 0:
#
# $$<<ds_0_products>> = <<ds_0:.2f>>$$
#
# <<exercise:score-gradients-by-hand>>
#
# Another row: $p = <<hand_p>>$, and $g = <<hand_g>>$ arrives. What arrives at the three scores?

# %% exercise="score-gradients-by-hand"

# %%
check(score_gradients_by_hand=score_gradients_by_hand)

# %% [markdown]
# **The compact form.** For long rows nobody builds the table. Add up column $j$, and split
# the bracket into its two parts:
#
# $$\sum_i g_i\,p_i\,([i = j] - p_j) = p_j\,g_j - p_j \sum_i g_i\,p_i$$
#
# In the first sum only $i = j$ was left; in the second, $p_j$ came out in front.

# %%
g = np.array([2.0, -1.0, 3.0])
show_matrix(g @ slopes, columns=moved, caption="What arrives, by the table")

# %% [markdown]
# Both terms hold $p_j$, and the sum is *one* number for the whole row: the mean of $g$, weighted by
# $p$. For the row <<p>> it is
#
# $$<<average_products>> = <<average:.2f>>$$
#
# so score 0 gets $<<p_0:g>> \cdot (<<g_0:g>> - <<average:.2f>>) = <<ds_0:.2f>>$, as before.
#
# <<exercise:softmax-backward>>
#
# Write it for rows along the last axis, however many axes stand in front.

# %% exercise="softmax-backward"

# %%
check(softmax_backward)

# %% [markdown]
# Does your checker agree? As before, `(dout * f(x)).sum()` is a loss that f's answer moves by `dout`.
# This helper measures its gradient for one of f's arguments; you will use it three times.


# %%
def measure(f, dout, given, place):
    before, after = given[:place], given[place + 1 :]
    return numerical_gradient(lambda x: (dout * f(*before, x, *after)).sum(), given[place])


# %%
rng = np.random.default_rng(15)
scores, dweights = rng.normal(size=(2, 5)), rng.normal(size=(2, 5))
yours = softmax_backward(dweights, softmax(scores))
measured = measure(softmax, dweights, [scores], 0)
print(f"worst difference: {np.abs(yours - measured).max():.0e}")
show_matrix(yours, columns=tokens, caption="Gradient of the scores")

# %% [markdown]
# Why did we divide by $\sqrt{d_k}$? Here the scores of a row are made larger, step by step. What
# happens to the gradient that reaches them?

# %%
sizes = np.geomspace(0.1, 100, 40)
g, row = np.array([1.0, -1.0, 2.0, 0.0, 1.0]), np.linspace(-1, 1, 5)
reach = [np.abs(softmax_backward(g, softmax(size * row))).max() for size in sizes]
figure, axes = plt.subplots(figsize=(5.5, 3))
axes.plot(sizes, reach)
axes.set(xscale="log", yscale="log", xlabel="largest score", ylabel="largest gradient")
axes.grid()
show_plot(figure, alt="Level up to about 3, then ever steeper down; below 1e-6 at 30")

# %% [markdown]
# With large scores one weight is nearly 1, no push moves it, and nothing is learned.
#
# **The mask.** **Forward, this was** $-\infty$ in place of the scores of later tokens.
#
# <<exercise:hidden-score-gradient>>
#
# Predict. A gradient arrives at all weights of a row, also at those of hidden keys. What is the
# gradient of a hidden score?

# %% exercise="hidden-score-gradient"

# %%
check(hidden_score_gradient=hidden_score_gradient)

# %% [markdown]
# Look at a whole causal table. Row 0 can see only itself: why is even that entry 0?

# %%
masked = np.where(causal_mask(5), -np.inf, rng.normal(size=(5, 5)))
dscores = softmax_backward(rng.normal(size=(5, 5)), softmax(masked))
show_matrix(dscores, rows=tokens, columns=tokens, caption="Gradient of the scores, causal")

# %% [markdown]
# A weight of 0 stops the gradient, so the mask itself is not needed on the way back. And the one
# weight of row 0 is 1, whatever its score.
#
# **The whole head.** First a picture: forward from left to right, and below it the way back.


# %%
def draw(forward, back, alt):
    figure, axes = plt.subplots(figsize=(1.7 * len(forward), 1.4))
    axes.set(xlim=(-0.5, len(forward) - 0.5), ylim=(-0.3, 1.3))
    axes.axis("off")
    for y, names, arrow in [(1, forward, "→"), (0, back, "←")]:
        for x, name in enumerate(names):
            axes.text(x, y, name, ha="center", va="center")
            if x:
                axes.text(x - 0.5, y, arrow, ha="center", va="center", size=16)
    return show_plot(figure, alt)


# %%
forward = ["Q, K", "scores\nQ Kᵀ", "scaled\n/ √d_k, mask", "weights, V\nsoftmax"]
forward += ["out\nweights V"]
back = ["dQ, dK", "dscores", "dscaled", "dweights, dV", "dout"]
draw(forward, back, alt="From Q, K by scores, scaled and weights to out; and back")

# %% [markdown]
# **The mix.** **Forward, this was** query $t$ taking value $s$ with weight $A_{ts}$. **So now** value $s$ hears
# from every query by those weights, in *column* $s$.
#
# And $A_{ts}$ multiplied row $s$ of V on its way into row $t$ of out. So it gets their dot
# product: row $s$ of V with row $t$ of dout.

# %%
example = softmax(np.where(causal_mask(5), -np.inf, rng.normal(size=(5, 5))))
show_matrix(example, rows=tokens, columns=tokens, caption="Row: takes from. Column: is told by")

# %% [markdown]
# **Softmax** is done already. **The root.** **Forward, this was** a division by $\sqrt{d_k}$. **So now** a
# push to a score arrives at softmax smaller by that factor, and so its gradient is smaller by that
# factor. With $d_k = 4$:

# %%
row, g = rng.normal(size=(2, 3))
of_scaled = numerical_gradient(lambda scaled: g @ softmax(scaled), row / 2)
of_scores = numerical_gradient(lambda scores: g @ softmax(scores / 2), row)
show_matrix(np.array([of_scaled, of_scores]), rows=["scaled", "scores"], decimals=3)

# %% [markdown]
# **The scores.** **Forward, this was** a dot product: $\text{score}_{ts} = Q_t \cdot K_s$. Say only the
# score of query 0 with key 2 matters. What does that query hear, and what does that key?

# %%
Q, K = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]])
only = np.array([[0, 0, 1], [0, 0, 0]])
print("dQ\n", numerical_gradient(lambda Q: (only * (Q @ K.T)).sum(), Q).round(6))
print("dK\n", numerical_gradient(lambda K: (only * (Q @ K.T)).sum(), K).round(6))

# %% [markdown]
# **So now** the query hears the key, and the key the query. With all scores in play, $Q_t$ adds up along *row*
# $t$ of dscores, $K_s$ down *column* $s$.
#
# <<exercise:attention-backward>>
#
# The weights have the mask in them; heads may stand in front. (Mix and scores are products: the two
# rules of the linear layer say the same.)

# %% exercise="attention-backward"

# %%
check(attention_backward)

# %% [markdown]
# Measure all three, on a causal head with three features:


# %%
hidden = causal_mask(5)
Q, K, V, dout = rng.normal(size=(4, 5, 3))
weights = attention(Q, K, V, hidden)[1]
yours = attention_backward(dout, Q, K, V, weights)
for place, name in enumerate("QKV"):
    measured = measure(lambda *given: attention(*given, hidden)[0], dout, [Q, K, V], place)
    print(f"d{name}: worst difference {np.abs(yours[place] - measured).max():.0e}")

# %% [markdown]
# Who is told, if only *transformers* has something to say? Its `dout` is 1 here, that of all others
# 0. Before you run: which tokens' queries, keys and values get a gradient?

# %%
only = np.zeros((5, 3))
only[3] = 1
told = attention_backward(only, Q, K, V, weights)
reach = np.array([np.abs(one).max(axis=-1) for one in told])
show_matrix(reach, rows=["query", "key", "value"], columns=tokens, caption="Largest gradient")

# %% [markdown]
# One query, and the keys and values of all that it could see. `<EOS>` came later and hears nothing.
#
# **The output projection.** Around the heads lie four matrices:

# %%
forward = ["X", "Q, K, V\nprojected", "heads\nsplit", "out_heads\nattention"]
forward += ["concat\nmerge", "out\nconcat W_o"]
back = ["dX", "dQ, dK, dV", "dheads", "dout_heads", "dconcat", "dout"]
draw(forward, back, alt="From X by Q, K, V, heads and concat to out; and back")

# %% [markdown]
# **Forward, this was** feature $i$ of concat going into feature $j$ of out with weight $W_o[i, j]$.
# **So now** feature $i$ hears from *every* feature $j$ of out, by those same weights, along *row* $i$.
#
# <<exercise:concat-gradient>>
#
# $$W_o = <<hand_w_o>> \qquad \text{dout} = <<hand_dout>>$$
#
# What arrives at the two features of concat?

# %% exercise="concat-gradient"

# %%
check(concat_gradient=concat_gradient)

# %% [markdown]
# $W_o$ is square here, as in the course's model: multiplying by it the wrong way round raises no
# error and gives the right shape. Only numbers tell, so we measure. Which of the two products
# agrees?

# %%
W_o, dout = np.array([[1.0, 3.0], [-1.0, 2.0]]), np.array([1.0, 2.0])
measured = numerical_gradient(lambda concat: dout @ (concat @ W_o), np.zeros(2))
both = [measured, dout @ W_o, dout @ W_o.T]
show_matrix(np.array(both), rows=["measured", "dout W_o", "dout W_oᵀ"])

# %% [markdown]
# **The heads.** **Forward, this was** moving numbers about, no more. **So now** gradients are moved
# back: through a merge by a split, through a split by a merge. Which token's features does this
# show?

# %%
labelled = 10 * np.arange(5)[:, None] + np.arange(6)  # feature f of token t is 10 t + f
print(
    split_heads(labelled, 2)[1, 3], np.array_equal(merge_heads(split_heads(labelled, 2)), labelled)
)

# %% [markdown]
# **The tokens.** **Forward, this was** X, used three times. **So now** three gradients come
# back to it, and add (lesson 14).
#
# <<exercise:multi-head-attention-backward>>
#
# Run forward again, up to concat, with the causal mask. Then go back, step by step. The verdict
# judges each of the five gradients by itself.

# %% exercise="multi-head-attention-backward"

# %%
check(multi_head_attention_backward)

# %% [markdown]
# Measure: two heads, square matrices, three tokens. Each line pushes every entry of one array up and
# down.

# %%
X, dout = rng.normal(size=(2, 3, 4))
given = [X, *rng.normal(0, 0.5, size=(4, 4, 4)), 2]
yours = multi_head_attention_backward(dout, *given)
for place, name in enumerate(["X", "W_q", "W_k", "W_v", "W_o"]):
    measured = measure(multi_head_attention, dout, given, place)
    print(f"d{name}: worst difference {np.abs(yours[place] - measured).max():.0e}")

# %% [markdown]
# Which of the four matrices hears most? Mean sizes over 30 random layers of the course's sizes.
# Two of the gradients had to pass the softmax:

# %%
mean_sizes = np.zeros(4)
for _ in range(30):
    X, dout = rng.normal(size=(2, 5, 16))
    W = rng.normal(0, 0.25, size=(4, 16, 16))
    gradients = multi_head_attention_backward(dout, X, *W, 2)[1:]
    mean_sizes += [np.abs(gradient).mean() / 30 for gradient in gradients]
show_matrix(mean_sizes, columns=["W_q", "W_k", "W_v", "W_o"], caption="Mean size of the gradient")

# %% [markdown]
# Queries and keys hear least: softmax passes on only differences, times weights below 1.
#
# ## What a colleague might ask
#
# <details><summary>If a weight near 0 lets no gradient through, can a head that is too sure recover?</summary>
#
# Slowly, by other ways. Queries and keys are made from tokens, which other layers keep changing, and
# weight decay (lesson 17) makes W_q and W_k smaller, and so the scores. Better not to start there:
# hence the root, and small weights at the beginning.
#
# </details>
#
# <details><summary>Must all attention weights be kept until the backward pass?</summary>
#
# Something must: T² numbers for each head. Long texts make that the largest item in memory.
# FlashAttention (Dao and others, 2022, arXiv:2205.14135) keeps a few numbers for each row and works
# the weights out again, block by block, on the way back.
#
# </details>
#
# <details><summary>Why is the transpose of W_o right, and not its inverse?</summary>
#
# The inverse answers another question: which input gave this output? The gradient asks how much
# the loss changes when an input is pushed, and every push travels along the same weights, forward.
# Reading those weights from the input's side is the transpose. It exists even where W_o has no
# inverse.
#
# </details>
#
# **Where this sits in the training step:** the gradient has now passed through every part of a
# block. Lesson 16 takes it to the embeddings, and joins all parts into one backward pass.
