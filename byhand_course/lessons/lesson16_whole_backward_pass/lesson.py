# %% [markdown]
# The gradient has come down through the block. Two tables are left, at the very bottom. Then every
# piece of lessons 13 to 16 joins one function, which finds the gradient of **every** parameter, and
# you prove it on the course's own model.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

numerical_gradient, forward = mine("numerical_gradient"), mine("forward")
embed_with_positions, layer_norm = mine("embed_with_positions"), mine("layer_norm")
transformer_block, cross_entropy = mine("transformer_block"), mine("cross_entropy")
multi_head_attention, feed_forward = mine("multi_head_attention"), mine("feed_forward")

# %% [markdown]
# And your backward functions, from the loss downwards. If one is not finished yet, this cell says
# which.

# %%
cross_entropy_backward, linear_backward = mine("cross_entropy_backward"), mine("linear_backward")
layer_norm_backward, residual_backward = mine("layer_norm_backward"), mine("residual_backward")
feed_forward_backward = mine("feed_forward_backward")
multi_head_attention_backward = mine("multi_head_attention_backward")
words = ["<BOS>", "I", "like", "transformers", "<EOS>"]
vocabulary = ["<PAD>", "<BOS>", "<EOS>", *words[1:4], "the", "cat", "sat", "mat"]

# %% [markdown]
# **The look-up.** **Forward, this was** a copy: token $t$ took the row of its id. Which row made which
# token? Write that as zeros and ones (lesson 4):

# %%
sentence, names = ["the", "cat", "sat", "the"], ["the", "cat", "sat", "mat"]
made = np.array([[word == name for name in names] for word in sentence])
show_matrix(made.astype(int), rows=sentence, columns=names, caption="Row above made token at left")

# %% [markdown]
# Push a row of the table by 1, and its copies move by 1: these ones are the look-up's whole Jacobian.
# **So now** each row collects down its *column*: *the* hears from both of its places, *mat* from none.
#
# **The positions.** **Forward, this was** a sum: row $t$ of a second table was added to token $t$.

# %%
show_matrix(np.eye(4, dtype=int), rows=sentence, caption="Position above, token at left")

# %% [markdown]
# **So now** row $t$ gets the gradient of token $t$, and the token's own row gets it too, *in full*: a sum
# hands its gradient to both sides (lesson 14).
#
# <<exercise:repeated-token-by-hand>>
#
# <<hand_gradient>>
#
# Write the gradient of the row of *the*, then that of position 3, two numbers each.

# %% exercise="repeated-token-by-hand"

# %%
check(repeated_token_by_hand=repeated_token_by_hand)

# %% [markdown]
# One trap of NumPy on the way. Row 0 is named twice here. What will both lines print?

# %%
rows, once, always = [0, 2, 0], np.zeros(3), np.zeros(3)
once[rows] += 1
np.add.at(always, rows, 1)
print("once[rows] += 1:", once)
print("np.add.at:      ", always)

# %% [markdown]
# Indexing with a list takes a copy of the rows, adds to the copy, and writes each row back once: the
# second visit of row 0 overwrites the first.
#
# <<exercise:embedding-backward>>
#
# Write it for both tables. A batch may stand in front: `ids` is (T,) or (B, T), and all sequences
# share both tables.

# %% exercise="embedding-backward"

# %%
check(embedding_backward)

# %% [markdown]
# Let every token's gradient be 1. Before you run: what will stand under *the*, and what under *mat*?

# %%
ids = np.array([vocabulary.index(word) for word in sentence])
heard, places = embedding_backward(np.ones((4, 1)), ids, 10, 5)
show_matrix(heard.T, columns=vocabulary, caption="What each row of the token table hears")

# %% [markdown]
# Measure both tables: push every entry up and down, and watch a loss.

# %%
rng = np.random.default_rng(16)
E, P, dout = (rng.normal(size=(n, 3)) for n in (10, 5, 4))
yours = embedding_backward(dout, ids, 10, 5)
by_token = numerical_gradient(lambda E: (dout * embed_with_positions(ids, E, P)).sum(), E)
by_place = numerical_gradient(lambda P: (dout * embed_with_positions(ids, E, P)).sum(), P)
print(f"tokens:    worst difference {np.abs(yours[0] - by_token).max():.0e}")
print(f"positions: worst difference {np.abs(yours[1] - by_place).max():.0e}")

# %% [markdown]
# **The block.** Above the tables lies the block. Its picture, forward from left to right, and the way
# back below:


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
stages = ["x", "normed_1\nln1", "attended\nattention", "middle\nx + attended", "normed_2\nln2"]
stages += ["fed\nfeed-forward", "out\nmiddle + fed"]
back = ["dx", "dnormed_1", "dmiddle", "dmiddle", "dnormed_2", "dout", "dout"]
draw(stages, back, alt="x through norm, attention, sum, norm, feed-forward, sum; and back")

# %% [markdown]
# **The sums.** **Forward, this was** out = middle + fed. **So now** both get dout as it is.
#
# And middle was used twice: in that sum, and by ln2. So two gradients come back to it, and they
# add. In numbers, for x + x²/2 at 1 and 2: how much through the sum, how much through the branch?

# %%
numerical_gradient(lambda x: (x + x**2 / 2).sum(), np.array([1.0, 2.0])).round(6)

# %% [markdown]
# 1 through the sum, and x through the branch.
#
# <<exercise:transformer-block-backward>>
#
# Six stages back, with four functions of yours. Run the first stages forward again, to have what went
# into each. Return dx, and a dict with the gradients of the twelve parameters under their own names.

# %% exercise="transformer-block-backward"

# %%
check(transformer_block_backward)

# %% [markdown]
# Now the course's model, drawn as in lesson 12. First its shapes:

# %%
norm, square = (16,), (16, 16)
block = {"ln1_gamma": norm, "ln1_beta": norm}
block |= {"W_q": square, "W_k": square, "W_v": square, "W_o": square}
block |= {"ln2_gamma": norm, "ln2_beta": norm}
block |= {"W_1": (16, 64), "b_1": (64,), "W_2": (64, 16), "b_2": (16,)}
shapes = {"token_embedding": (10, 16), "position_embedding": (5, 16)}
shapes |= {f"blocks.0.{name}": shape for name, shape in block.items()}
shapes |= {"lnf_gamma": norm, "lnf_beta": norm, "W_out": (16, 10)}


# %%
def draw_numbers(name, shape, rng):
    if "W_" in name:
        return rng.normal(0, shape[0] ** -0.5 / (4 if name == "W_out" else 1), shape)
    if "embedding" in name:
        return rng.normal(0, 1, shape)
    return rng.normal(1 if "gamma" in name else 0, 0.1, shape)


# %% [markdown]
# Its parameters, and the helper that picks out one block's:

# %%
rng = np.random.default_rng(0)
params = {name: draw_numbers(name, shape, rng) for name, shape in shapes.items()}
ids = np.array([vocabulary.index(word) for word in words])
inputs, targets = ids[:-1], ids[1:]


def block_params(params, layer):
    prefix = f"blocks.{layer}."
    own = [name for name in params if name.startswith(prefix)]
    return {name.removeprefix(prefix): params[name] for name in own}


# %% [markdown]
# How much of the gradient comes past both branches, along the stream? Compare dx with dout:

# %%
x = embed_with_positions(inputs, params["token_embedding"], params["position_embedding"])
dout = rng.normal(size=x.shape)
dx, _ = transformer_block_backward(dout, x, **block_params(params, 0), num_heads=2)
lengths = [np.linalg.norm(part, axis=-1) for part in (dout, dx - dout, dx)]
show_matrix(np.array(lengths), rows=["dout", "added by the branches", "dx"], columns=words[:4])

# %% [markdown]
# dout reaches x undiminished, whatever the branches do. That is how a gradient gets through a
# hundred blocks.
#
# **The whole model.** The last picture:

# %%
stages = [
    "ids",
    "x\nembeddings",
    "x\nblocks",
    "normed\nlnf",
    "logits\nW_out",
    "loss\ncross-entropy",
]
back = ["both tables", "dx", "dx", "dnormed", "dlogits", "1"]
draw(stages, back, alt="ids to embeddings, blocks, last norm, logits, loss; and back")

# %% [markdown]
# Every arrow back is a function of yours. What it hands on goes to the next one; what it leaves
# behind are gradients of parameters.
#
# <<exercise:backward>>
#
# Run forward, keep what is needed, go back. Return a dict with the names of `params`. There may be
# any number of blocks: `second_block` is a model with two.

# %% exercise="backward"

# %%
check(backward)

# %% [markdown]
# The verdict lists the arrays in the order in which the gradient comes by. If several are wrong,
# begin with the first: what follows is computed from it.
#
# <<exercise:rows-that-learn>>
#
# Predict, for "I like transformers": how many rows of `token_embedding` (of <<vocab_size>>) and how
# many columns of `W_out` (of <<vocab_size>>) get a gradient that is not 0?

# %% exercise="rows-that-learn"

# %%
check(rows_that_learn=rows_that_learn)

# %% [markdown]
# See which. The largest entry of every row and of every column:

# %%
gradients = backward(params, inputs, targets)
heard = np.abs(gradients["token_embedding"]).max(axis=1)
told = np.abs(gradients["W_out"]).max(axis=0)
rows = ["row of token_embedding", "column of W_out"]
show_matrix(np.array([heard, told]), rows=rows, columns=vocabulary, caption="Largest entry")

# %% [markdown]
# **The proof.** Do these <<arrays>> gradients tell the truth? Measuring all <<parameters>> numbers
# takes <<forward_passes>> forward passes, or more. A few entries of each array find a wrong rule just as
# well. This is the loss, with some entries of one array replaced:


# %%
def loss_with(name, places, values):
    changed = params[name].copy()
    changed.flat[places] = values
    return cross_entropy(forward(inputs, params | {name: changed}), targets)


# %% [markdown]
# For each array: the entry with the largest gradient, and two drawn by lot.

# %%
rng, measured, chosen = np.random.default_rng(16), {}, {}
for name in reversed(params):  # the order of the backward pass
    largest, size = np.abs(gradients[name]).argmax(), params[name].size
    chosen[name] = [largest, *rng.choice(np.delete(np.arange(size), largest), 2, replace=False)]
    measured[name] = numerical_gradient(
        lambda values, name=name: loss_with(name, chosen[name], values),
        params[name].flat[chosen[name]],
    )

# %% [markdown]
# Yours beside the measured ones:

# %%
yours = {name: gradients[name].flat[chosen[name]] for name in measured}
table = np.array([[yours[name][0], measured[name][0]] for name in measured])
worst = max(np.abs(yours[name] - measured[name]).max() for name in measured)
print(f"{3 * len(measured)} entries: worst difference {worst:.0e}")
columns = ["yours", "measured"]
show_matrix(
    table, rows=measured, columns=columns, decimals=6, caption="Largest entry of each array"
)

# %% [markdown]
# They agree, down to the rounding of the measurement: every gradient of a transformer, by your own
# hand. (The last two lines are equal because one row of dx went to both tables.) Which arrays hear
# most?

# %%
sizes = [np.sqrt((gradients[name] ** 2).mean()) for name in measured]
figure, axes = plt.subplots(figsize=(6, 4.5))
axes.barh(list(measured), sizes)
axes.invert_yaxis()
axes.set(xlabel="typical size of an entry (root of the mean square)")
show_plot(figure, alt="W_out hears by far the most; queries and keys hear least.")

# %% [markdown]
# W_out is nearest to the loss. Queries and keys lie behind the softmax.
#
# ## What a colleague might ask
#
# <details><summary>Why is the backward pass about twice the work of the forward pass?</summary>
#
# Forward, a linear layer is one matrix product. Back, it is two of the same size: one for its input,
# one for its weights. Nearly all the work of a model lies in such products.
#
# </details>
#
# <details><summary>Do tokens that do not occur never learn?</summary>
#
# Their rows of the embedding get no gradient in this step. They learn when a text brings them. In
# the output layer they learn at once: to be less likely here.
#
# </details>
#
# <details><summary>How does PyTorch do it?</summary>
#
# The same way. It notes every operation of the forward pass; each has a backward function, as yours
# have. Then it runs them in reverse order, and adds wherever something was used twice. That is called
# automatic differentiation. It saves the writing, and none of the mathematics.
#
# </details>
#
# **Where this sits in the training step:** `backward` is its second third. What the gradients are
# used for is the last one: AdamW (lesson 17).
