# %% [markdown]
# The whole of attention in one line:
#
# $$\text{Attention}(Q, K, V) = \text{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V$$
#
# You know nearly all of it from the soft look-up. Now you take it apart, write one function for each
# part, and find out what the root is for.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

softmax = mine("softmax")

# %% [markdown]
# <<exercise:attention-scores>>
#
# First part, $QK^\top$: every query against every key. `Q` has T rows and `K` has S; both may have
# batch axes in front. Which shape will the scores have?

# %% exercise="attention-scores"

# %%
check(attention_scores)

# %% [markdown]
# Look: the keys are three directions of the compass. Which of them should a query pointing
# north-east match, and how well?

# %%
asking, offering = ["north-east", "far west"], ["north", "east", "west"]
arrows = np.array([[1, 1], [-2, 0]])
compass = np.array([[0, 1], [1, 0], [-1, 0]])
matches = attention_scores(arrows, compass)
show_matrix(matches, rows=asking, columns=offering, caption="Each query against each key")

# %% [markdown]
# Now an experiment. Draw queries and keys whose entries have mean 0 and variance 1. A score is then
# a sum of $d_k$ products. How will the **variance** of the scores grow with $d_k$?

# %%
rng = np.random.default_rng(7)
sizes = [1, 4, 16, 64, 256]
spreads = []
for d_k in sizes:
    queries, keys = rng.normal(size=(2, 3000, 1, d_k))
    scores = attention_scores(queries, keys)  # 3000 pairs, one score each
    spreads.append(scores.var())
print("variances:", np.round(spreads, 1))

# %%
figure, axes = plt.subplots(figsize=(5, 3))
axes.plot(sizes, sizes, "--", label="variance = d_k")
axes.plot(sizes, spreads, "o", label="measured")
axes.set(xlabel="d_k", ylabel="variance of q · k", xscale="log", yscale="log")
axes.set(xticks=sizes, xticklabels=sizes, yticks=sizes, yticklabels=sizes)
axes.legend()
show_plot(figure, alt="The measured variances lie on the line on which variance equals d_k.")

# %% [markdown]
# $\text{Var}(q \cdot k) = d_k$: each product has variance 1, and variances of independent terms add.
# So scores spread by $\sqrt{d_k}$. What does that do to softmax? A small case with two keys:

# %%
pair = np.array([2.0, 0.0])  # say d_k = 4, so the root is 2
print("with the root:   ", softmax(pair / 2).round(2))
print("without the root:", softmax(pair).round(2))

# %% [markdown]
# <<exercise:with-and-without-root>>
#
# Predict, on paper: $d_k = <<hand_d_k>>$, scores <<hand_score>> and 0. What is the first key's
# weight **with** the root, and what **without** it? ($e^2 = <<e_2:.2f>>$, $e^8 = <<e_8>>$.)

# %% exercise="with-and-without-root"

# %%
check(with_and_without_root=with_and_without_root)

# %% [markdown]
# Without the root softmax is **saturated**: one key has everything, and moving a score a little
# hardly moves a weight. The slope, $w(1-w)$, is <<slope_without:.4f>> instead of <<slope_with:.4f>>:
# next to nothing to learn from.
#
# <<exercise:scale-scores>>
#
# Divide the scores so that their variance comes back to 1, whatever `d_k` is.

# %% exercise="scale-scores"

# %%
check(scale_scores)

# %% [markdown]
# <<exercise:attention-weights>>
#
# Next, softmax: weights above 0 that sum to 1, so that a blend stays among its values. A row holds
# one query's scores, and the keys compete for it. Your `softmax` takes an axis: which is right for
# any number of axes?

# %% exercise="attention-weights"

# %%
check(attention_weights)

# %% [markdown]
# Now the question everybody asks: why $\sqrt{d_k}$, and not $d_k$ itself? We measure the largest of
# five weights, for three ways of dividing. Where will each curve end?

# %%
rng = np.random.default_rng(8)
curves = {"not divided": [], "divided by √d_k": [], "divided by d_k": []}
for d_k in sizes:
    queries, keys = rng.normal(size=(500, 1, d_k)), rng.normal(size=(500, 5, d_k))
    scores = attention_scores(queries, keys)
    ways = scores, scale_scores(scores, d_k), scores / d_k
    for curve, way in zip(curves.values(), ways, strict=True):
        curve.append(attention_weights(way).max(axis=-1).mean())

# %%
figure, axes = plt.subplots(figsize=(5.5, 3))
for (name, curve), style in zip(curves.items(), ["o--", "s-", "^:"], strict=True):
    axes.plot(sizes, curve, style, label=name)
axes.axhline(1 / 5, color="grey", linewidth=0.8)
axes.set(xlabel="d_k", ylabel="largest of 5 weights", xscale="log", ylim=(0, 1.05))
axes.set(xticks=sizes, xticklabels=sizes)
axes.legend()
show_plot(
    figure, alt="Not divided, it nears 1; by the root, it stays nearly level; by d_k, it nears 1/5."
)

# %% [markdown]
# Not divided, softmax saturates. Divided by $d_k$, every key gets nearly the same, and the query has
# no say. With the root, sharpness hardly depends on $d_k$.
#
# <<exercise:attend>>
#
# Last part: the weights blend the values, one blend for each query.

# %% exercise="attend"

# %%
check(attend)

# %% [markdown]
# Now all four parts are yours.
#
# <<exercise:formula-order>>
#
# From memory, without scrolling up: in which order do they run? *Compare* is $QK^\top$, *divide* is
# by the root, *softmax* makes weights, *blend* mixes the values.

# %% exercise="formula-order"

# %%
check(formula_order=formula_order)

# %% [markdown]
# Look: the four lines on our sentence, with random queries and keys of 64 features. How would the
# table look without the second line?

# %%
tokens = ["<BOS>", "I", "like", "transformers", "<EOS>"]
Q, K, V = np.random.default_rng(7).normal(size=(3, 5, 64))
scores = attention_scores(Q, K)
scaled = scale_scores(scores, d_k=64)
weights = attention_weights(scaled)
output = attend(weights, V)
print("output:", output.shape)
show_matrix(weights, rows=tokens, columns=tokens, caption="With the root")

# %%
unscaled = attention_weights(attention_scores(Q, K))
show_matrix(unscaled, rows=tokens, columns=tokens, caption="Without the root: saturated")

# %% [markdown]
# The same winner in each row. But without the root it takes nearly all: hardly anything is left for
# the other four.
#
# ## What a colleague might ask
#
# <details><summary>Why √d_k, and not d_k?</summary>
#
# Because dividing by $c$ divides the variance by $c^2$. For independent entries with mean 0 and
# variance 1 the scores have variance $d_k$; divided by $\sqrt{d_k}$, variance 1, whatever $d_k$ is.
# Divided by $d_k$ they would have variance $1/d_k$: the wider the head, the closer attention would
# start to a plain average.
#
# It is an argument about the start of training, when entries are about independent. Later a query
# and its key may agree in most features, and then their product grows like $d_k$ itself. So $d_k$ is
# not absurd: some divide by it, to carry settings over from narrow models to wide ones (Yang et al.
# 2022, arXiv:2203.03466). For one fixed $d_k$ it is only a constant factor, which $W_q$ can learn to
# make up for.
#
# </details>
#
# <details><summary>May I divide Q instead of the scores?</summary>
#
# Yes: $(Q/\sqrt{d_k})\,K^\top$ is the same, and many programs do so, as Q is often smaller than the
# scores. Dividing after softmax is something else: then the weights do not sum to 1.
#
# </details>
#
# <details><summary>Is the root just a temperature?</summary>
#
# Exactly: softmax at temperature $\sqrt{d_k}$ (lesson 3). It is fixed, so that heads of any width
# start equally sharp.
#
# </details>
#
# **Where this sits in the training step:** in every head of every block, between the projections to
# Q, K, V and the output projection. It is the only place where tokens exchange anything.
