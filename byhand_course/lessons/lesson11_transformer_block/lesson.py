# %% [markdown]
# Attention gathers. What else does a model need, to stack dozens of such layers? A **block** is
# attention and a small network, two norms and two sums. You write the missing pieces, put them
# together, and measure what breaks without each.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

multi_head_attention = mine("multi_head_attention")
tokens = ["<BOS>", "I", "like", "transformers", "<EOS>"]

# %% [markdown]
# **Layer norm** gives each token mean 0 and variance 1. <<shown>>: mean <<shown_mean:g>>,
# deviations <<shown_centered>>, variance <<shown_variance:g>>, normed <<shown_normed>>.
#
# $$\gamma \cdot \frac{x - \bar{x}}{\sqrt{\text{var}(x) + \epsilon}} + \beta$$
#
# <<exercise:layer-norm>>
#
# $\gamma$ and $\beta$ are learned, one for each feature. Where does $\epsilon$ stand?

# %% exercise="layer-norm"

# %%
check(layer_norm)

# %% [markdown]
# Look: four tokens, each made from the first. Which of them will the norm tell apart?

# %%
token = np.array([-1.0, 5.0, 7.0, 5.0])
x = np.array([token, token + 100, 20 * token, -token])
names = ["token", "plus 100", "times 20", "times -1"]
show_matrix(layer_norm(x, np.ones(4), np.zeros(4)), rows=names, caption="After the norm")

# %% [markdown]
# Offset and scale are gone. Next, a bend: **GELU** multiplies $x$ by the chance that a standard
# normal number lies below it. Exactly, that takes the function erf; the tanh form comes close:
#
# $$\text{gelu}(x) = \tfrac{1}{2}\,x\,\Big(1 + \tanh\big(\sqrt{2/\pi}\,(x + 0.044715\,x^3)\big)\Big)$$
#
# gelu(-0.5) = <<gelu_minus:.4f>>, gelu(2) = <<gelu_plus:.4f>>.
#
# <<exercise:gelu>>
#
# Write the tanh form.

# %% exercise="gelu"

# %%
check(gelu)

# %% [markdown]
# Look at it beside ReLU, which cuts at 0. What becomes of small negative numbers?

# %%
x = np.linspace(-4, 4, 161)
figure, axes = plt.subplots(figsize=(5, 3))
axes.plot(x, gelu(x), label="GELU")
axes.plot(x, np.maximum(x, 0), "--", label="ReLU")
axes.set(xlabel="x", ylabel="passed on")
axes.grid()
axes.legend()
show_plot(figure, alt="GELU follows ReLU far from 0, and dips to about -0.17 near x = -0.75.")

# %% [markdown]
# A linear layer is your projection of lesson 2 with a bias. It is short enough to be given:


# %%
def linear(X, W, b):
    return X @ W + b


# %% [markdown]
# <<exercise:feed-forward>>
#
# The **feed-forward network** works on each token alone: widen from d_model to d_ff (four times as
# wide in our model), bend with `gelu`, bring back to d_model.

# %% exercise="feed-forward"

# %%
check(feed_forward)

# %% [markdown]
# Look: does a token care about its neighbours? One of them is changed here.

# %%
rng = np.random.default_rng(11)
x = rng.normal(size=(5, 16))
W_1, W_2 = rng.normal(0, 0.25, (16, 64)), rng.normal(0, 0.125, (64, 16))
changed = x.copy()
changed[2] += 1
fed = [feed_forward(one, W_1, np.zeros(64), W_2, np.zeros(16)) for one in (x, changed)]
moved = np.abs(fed[1] - fed[0]).max(axis=-1)
show_matrix(moved, columns=tokens, caption="How far each token's answer moves")

# %% [markdown]
# The stream of tokens runs straight through a block. Attention, then feed-forward, take a *normed
# copy* of it, and a **sum** adds their answer to it.
#
# <<exercise:block-by-hand>>
#
# Order *sum, feed-forward, norm, attention, norm, sum*. Send <<toy_x:g>> through: norms halve,
# attention adds 1, feed-forward triples. What leaves each stage, in order?

# %% exercise="block-by-hand"

# %%
check(block_by_hand=block_by_hand)

# %% [markdown]
# <<exercise:transformer-block>>
#
# The same six stages with the real functions. The last argument, `num_heads`, is attention's
# business.

# %% exercise="transformer-block"

# %%
check(transformer_block)

# %% [markdown]
# What does it do to the length of a token? Random weights, five tokens; in the third row attention
# finds nothing, as $W_o$ is 0.

# %%
rng = np.random.default_rng(11)
x, one, zero = rng.normal(size=(5, 16)), np.ones(16), np.zeros(16)
W, W_1 = rng.normal(0, 0.25, (4, 16, 16)), rng.normal(0, 0.25, (16, 64))
network = [one, zero, W_1, np.zeros(64), rng.normal(0, 0.125, (64, 16)), zero]
whole = transformer_block(x, one, zero, *W, *network, 2)
no_attention = transformer_block(x, one, zero, *W[:3], 0 * W[3], *network, 2)
lengths = [np.linalg.norm(stream, axis=-1) for stream in (x, whole, no_attention)]
rows = ["before the block", "after it", "if attention finds nothing"]
show_matrix(np.array(lengths), rows=rows, columns=tokens, caption="Length of each token")

# %% [markdown]
# One block does little harm or good. Now stack <<depth>> of them, each with its own random weights.
#
# <<exercise:what-breaks>>
#
# Predict: what happens to the tokens without the two sums, and what without the two norms?

# %% exercise="what-breaks"

# %%
check(what_breaks=what_breaks)

# %% [markdown]
# Measure it. First the parts of each block, attention and feed-forward network, as functions of
# what goes in:


# %%
def draw_parts(rng):
    W_1, W_2 = rng.normal(0, 0.25, (16, 64)), rng.normal(0, 0.125, (64, 16))
    W = rng.normal(0, 0.25, (4, 16, 16))
    return (
        lambda y: multi_head_attention(y, *W, 2),
        lambda y: feed_forward(y, W_1, np.zeros(64), W_2, np.zeros(16)),
    )


# %% [markdown]
# Then the stream, where each sum and each norm can be switched off:


# %%
def run(sums=(1, 1), norms=(1, 1)):
    x, stream = start, [start]
    for pair in parts:
        for part, added, normed in zip(pair, sums, norms, strict=True):
            y = layer_norm(x, np.ones(16), np.zeros(16)) if normed else x
            x = added * x + part(y)
        stream.append(x)
    return np.array(stream)  # (13, 5, 16): before the first block and after each


# %% [markdown]
# Two numbers tell the story: the mean length of a token, and how far apart two tokens are, as a
# share of that length. With 0, nothing tells them apart.


# %%
def measure(x):
    length = np.linalg.norm(x, axis=-1).mean()
    distances = np.linalg.norm(x[:, None] - x, axis=-1)
    return length, distances[np.triu_indices(5, k=1)].mean() / length


# %% [markdown]
# Now run it seven times, on the same tokens and with the same weights:

# %%
rng = np.random.default_rng(16)
start, parts = rng.normal(size=(5, 16)), [draw_parts(rng) for _ in range(12)]
left_out = {"nothing": run(), "sum 1": run(sums=(0, 1)), "sum 2": run(sums=(1, 0))}
left_out |= {"norm 1": run(norms=(0, 1)), "norm 2": run(norms=(1, 0))}
left_out |= {"both sums": run(sums=(0, 0)), "both norms": run(norms=(0, 0))}
table = np.array([measure(stream[-1]) for stream in left_out.values()])
show_matrix(table, rows=left_out, columns=["length", "apart"], caption="After 12 blocks; left out:")

# %% [markdown]
# With a sum left out, tokens become alike. With a norm left out they grow, because what a part adds
# grows with the stream. The lengths, block by block:

# %%
figure, axes = plt.subplots(figsize=(6, 3.4))
for name, line in [("nothing", "-"), ("both sums", "--"), ("both norms", ":")]:
    lengths = [measure(x)[0] for x in left_out[name]]
    axes.plot(lengths, line, marker="o", label=f"left out: {name}")
axes.set(xlabel="blocks passed", ylabel="mean length of a token", yscale="log")
axes.legend()
show_plot(
    figure, alt="Without norms, lengths grow by much the same factor a block; else hardly at all."
)

# %% [markdown]
# Without norms: nearly a straight line on a logarithmic axis, so nearly a constant factor a block.
# With them the stream grows slowly: what is added has much the same length every time.
#
# ## What a colleague might ask
#
# <details><summary>Why before the parts, when the paper of 2017 norms after the sums?</summary>
#
# With the norm on the side (pre-norm), the stream itself runs from the first block to the last
# untouched, and so does its gradient on the way back. Such models train without the careful warm-up
# that post-norm needs.
#
# </details>
#
# <details><summary>What does the feed-forward network do that attention cannot?</summary>
#
# For given weights, attention only averages: it is linear in the values. The feed-forward network
# bends, on each token alone, and can answer to combinations of features. It also holds about two
# thirds of a block's parameters.
#
# </details>
#
# <details><summary>Why GELU and not ReLU?</summary>
#
# It bends smoothly, so its gradient does not jump at 0 and small negative numbers still get one.
# The gain is modest, and ReLU works too.
#
# </details>
#
# **Where this sits in the training step:** the block is the model's body. What it returns is normed
# once more and becomes logits (lesson 12); lessons 14 and 15 go back through it.
