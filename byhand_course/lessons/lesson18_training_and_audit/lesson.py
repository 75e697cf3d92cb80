# %% [markdown]
# Everything is there: forward pass, loss, backward pass, AdamW. You put them together into **one
# complete training step**, and let your model learn its sentence. Then you use what you know on
# somebody else's calculation.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot, show_progress

forward, cross_entropy = mine("forward"), mine("cross_entropy")
backward, adamw_update = mine("backward"), mine("adamw_update")
generate, numerical_gradient = mine("generate"), mine("numerical_gradient")

# %% [markdown]
# The sentence, and the shapes of the course's model, as in lesson 12:

# %%
words = ["<BOS>", "I", "like", "transformers", "<EOS>"]
vocabulary = ["<PAD>", "<BOS>", "<EOS>", *words[1:4], "the", "cat", "sat", "mat"]
sentence = np.array([vocabulary.index(word) for word in words])
ids, targets = sentence[:-1], sentence[1:]
norms = dict.fromkeys(["ln1_gamma", "ln1_beta", "ln2_gamma", "ln2_beta"], (16,))
squares = dict.fromkeys(["W_q", "W_k", "W_v", "W_o"], (16, 16))
wide = {"W_1": (16, 64), "b_1": (64,), "W_2": (64, 16), "b_2": (16,)}

# %%
order = ["ln1_gamma", "ln1_beta", "W_q", "W_k", "W_v", "W_o"]
order += ["ln2_gamma", "ln2_beta", "W_1", "b_1", "W_2", "b_2"]
block = norms | squares | wide
shapes = {"token_embedding": (10, 16), "position_embedding": (5, 16)}
shapes |= {f"blocks.0.{name}": block[name] for name in order}
shapes |= {"lnf_gamma": (16,), "lnf_beta": (16,), "W_out": (16, 10)}


# %%
def draw(name, shape, rng):
    if "W_" in name:
        return rng.normal(0, shape[0] ** -0.5 / (4 if name == "W_out" else 1), shape)
    if "embedding" in name:
        return rng.normal(0, 1, shape)
    return rng.normal(1 if "gamma" in name else 0, 0.1, shape)


rng = np.random.default_rng(0)
params = {name: draw(name, shape, rng) for name, shape in shapes.items()}

# %% [markdown]
# One step rests on <<count>> gradients. Add up their **sizes**, signs left out:

# %%
gradients = backward(params, ids, targets)
print("parameters:            ", sum(array.size for array in params.values()))
print("sum of gradient sizes: ", sum(np.abs(array).sum() for array in gradients.values()))
print("loss before any step:  ", cross_entropy(forward(ids, params), targets))

# %% [markdown]
# <<exercise:first-drop>>
#
# At first AdamW moves every parameter by lr, against the sign of its gradient (lesson 17). The sum
# of the sizes is <<total:.2f>>, and lr = <<lr>>. By how much will the loss fall in the first step,
# nearly? (The decay is too small to matter.)

# %% exercise="first-drop"

# %%
check(first_drop=first_drop)

# %% [markdown]
# But is every one of these gradients right? Moving one parameter at a time takes thousands of
# measurements. Move a **whole block** at once, along a random direction $D$: the slope must be the
# dot product of $D$ and the gradient (lesson 1).
#
# Take three directions: a wrong entry would have to stay hidden in all of them.


# %%
def slopes(loss, params, name, gradient):
    block = params[name]
    D = np.random.default_rng(18).normal(size=(3, *block.shape))
    claimed = (D * gradient).reshape(3, -1).sum(axis=1)

    def along(s):
        return loss(params | {name: block + np.tensordot(s, D, axes=1)})

    return claimed, numerical_gradient(along, np.zeros(3))


# %% [markdown]
# Errors count as a share of the measured slope. With your own `forward`, your own `backward` and
# your own gradient checker: how large do you expect the worst one to be?


# %%
def error(claimed, measured):
    return np.abs(claimed - measured).max() / np.abs(measured).max()


def sentence_loss(params):
    return cross_entropy(forward(ids, params), targets)


# %%
errors = {name: error(*slopes(sentence_loss, params, name, gradients[name])) for name in params}
own_checked = sum(params[name].size for name in errors)
print(own_checked, "parameters in", len(errors), "blocks")
print(f"worst error: {max(errors.values()):.1e} in", max(errors, key=errors.get))

# %% [markdown]
# <<exercise:train-step>>
#
# Now the step: loss, all gradients, then AdamW for each parameter. `state` holds `t`, the number of
# steps taken, and the dicts `m` and `v`. Return new dicts, and the loss **before** the step.

# %% exercise="train-step"

# %%
check(train_step)

# %% [markdown]
# Before the first step no step is taken and nothing is remembered. Did you foretell the fall?


# %%
def fresh_state(params):
    zeros = {name: np.zeros_like(array) for name, array in params.items()}
    return {"t": 0, "m": zeros, "v": dict(zeros)}


once, _, before = train_step(params, fresh_state(params), ids, targets)
after = cross_entropy(forward(ids, once), targets)
print(f"loss before {before:.4f}, after {after:.4f}: a fall of {before - after:.4f}")

# %% [markdown]
# A little less than the slopes said: they change on the way.
#
# What does the model write before it has learned anything? From `<BOS>`, always the likeliest
# token:


# %%
def written(params):
    return " ".join(vocabulary[token] for token in generate(sentence[:1], params, 4, 0, None))


print(written(params))

# %% [markdown]
# Now 200 steps, in four portions, so that you can watch. Every number in them comes out of code
# that you wrote.

# %%
models = {0: (params, fresh_state(params), [])}


def train(start, stop):
    model, state, losses = models[start]
    for _ in show_progress(range(start, stop), "training"):
        model, state, loss = train_step(model, state, ids, targets)
        losses = [*losses, loss]
    models[stop] = model, state, losses


# %%
train(0, 10)
print("after 10 steps:", written(models[10][0]))

# %% [markdown]
# It knows how to end. And after ten more?

# %%
train(10, 20)
print("after 20 steps:", written(models[20][0]))

# %% [markdown]
# A stutter. On it goes. When the likeliest tokens are the right ones, is there anything left to
# learn?

# %%
train(20, 110)
print(f"after 110 steps: {written(models[110][0])}  loss: {models[110][2][-1]:.4f}")

# %%
train(110, 200)
trained, _, losses = models[200]
print(f"{own_checked} parameters; loss {losses[0]:.4f} at first, {losses[-1]:.4f} at last")

# %% [markdown]
# The text has long been right, and the loss still falls: the model becomes surer.

# %%
figure, axes = plt.subplots(figsize=(6.5, 3.2))
axes.plot(losses, linewidth=2, label="your model")
axes.axhline(np.log(10), linestyle=":", color="black", label="ln 10: no idea")
axes.set(xlabel="step", ylabel="loss", ylim=(0, 2.6))
axes.legend()
show_plot(figure, alt="The loss falls from just below ln 10 steadily towards 0, in 200 steps.")

# %% [markdown]
# The first text and the last:

# %%
print("before:", written(params))
print("after: ", written(trained))

# %% [markdown]
# It completes the sentence. That was the first goal of this course: **one training step, carried
# out by hand-written code, every parameter checked.**
#
# How sure is it of each next token?

# %%
rows = np.exp(forward(ids, trained))
chances = rows / rows.sum(axis=1, keepdims=True)
show_matrix(chances, rows=words[:-1], columns=vocabulary, caption="Chances of the next token")

# %% [markdown]
# ## The audit
#
# *Attention to Detail* (Z. Hubert 2025, MIT licence) is one training step for this very sentence,
# calculated on 13 pages, with every number and the programs that made it. Hardly anybody lays a
# calculation so open. That is why it can be checked, and why much can be learned from it.

# %%
from byhand import published_calculation

book = published_calculation()
print("tokens:", book.tokens, " loss:", book.loss)
for name, array in book.params.items():
    print(f"{name:8} {array.shape}")
print(sum(array.size for array in book.params.values()), "parameters")

# %% [markdown]
# Its model is simpler than ours: two heads with matrices of their own, no residual around
# attention, a single norm at the end. After attention, matrices are stored as (out, in), so they
# are transposed in use. You have every piece:

# %%
embed_with_positions, layer_norm = mine("embed_with_positions"), mine("layer_norm")
masked_attention_head, feed_forward = mine("masked_attention_head"), mine("feed_forward")


def to_heads(p):
    X = embed_with_positions(book.tokens, p["E_token"], p["E_pos"])
    heads = [masked_attention_head(X, p["W_q"][h], p["W_k"][h], p["W_v"][h]) for h in (0, 1)]
    concat = np.concatenate([found for found, _ in heads], axis=1)
    return X, concat, np.array([weights for _, weights in heads])


# %% [markdown]
# From the attention's output to the loss, which is the **sum** over four positions:


# %%
def to_loss(attended, p):
    fed = feed_forward(attended, p["W1"].T, p["b1"], p["W2"].T, p["b2"])
    logits = layer_norm(attended + fed, p["gamma"], p["beta"]) @ p["W_lm"].T
    return 4 * cross_entropy(logits[:-1], book.tokens[1:])


def book_loss(p):
    return to_loss(to_heads(p)[1] @ p["W_o"].T, p)


# %%
print("published:", book.loss)
print("yours:    ", book_loss(book.params))

# %% [markdown]
# The forward pass is right to the last digit. Now the backward pass: <<published_count>> published
# gradients in <<blocks>> blocks. Each block is held against what **your** checker measures, along
# three directions as before. The first direction's slopes are shown, and the worst error of all
# three.

# %%
lines = []
for name, claim in book.gradients.items():
    claimed, measured = slopes(book_loss, book.params, name, claim)
    lines.append([claimed[0], measured[0], error(claimed, measured)])
columns = ["claimed slope", "measured slope", "error (1 = 100 %)"]
caption = "The published gradients, and the measured ones"
show_matrix(np.array(lines), list(book.gradients), columns, caption=caption, decimals=6)

# %% [markdown]
# <<exercise:wrong-blocks>>
#
# Which blocks are wrong, beyond what rounding explains? You may read them off the table, or let
# Python pick them.

# %% exercise="wrong-blocks"

# %%
check(wrong_blocks=wrong_blocks)

# %% [markdown]
# One slip is enough to spoil all of them, because each gradient is computed from the one before. On
# the way back:
#
# 1. `W_lm`, then `gamma`, `beta`
# 2. `W2`, `b2`, `W1`, `b1`
# 3. the attention's output, then `W_o`
# 4. the heads, then `W_v`
# 5. softmax, then `W_q`, `W_k`
# 6. X, then `E_token`, `E_pos`

# %% [markdown]
# <<exercise:first-wrong-operation>>
#
# Predict before you look closer: which operation on the way back is the **first** that went wrong?

# %% exercise="first-wrong-operation"

# %%
check(first_wrong_operation=first_wrong_operation)

# %% [markdown]
# Now look closer. The publication gives the gradient that arrives at the attention's output,
# `dattended`. Your checker measures the same, entry by entry:

# %%
p = book.params
X, concat, weights = to_heads(p)
measured = numerical_gradient(lambda a: to_loss(a, p), concat @ p["W_o"].T)
print("worst error in dattended:", np.abs(book.dattended - measured).max())

# %% [markdown]
# Right, all 80 of them. So the slip comes after it, and before `W_v`. On the way there stood
# $\text{attended} = \text{concat} \cdot W_o^\top$.
#
# <<exercise:output-projection-backward>>
#
# Repair it: carry `dattended` back through this product, to `concat` and to `W_o`. A batch may
# stand in front; here `W_o` need not be square.

# %% exercise="output-projection-backward"

# %%
check(output_projection_backward)

# %% [markdown]
# The publication multiplies by `W_o.T` on the way back, as on the way there. Both are (16, 16), so
# nothing complains. Token *I*, its first six features:

# %%
dconcat, dW_o = output_projection_backward(book.dattended, concat, p["W_o"])
slip = book.dattended @ p["W_o"].T
truth = numerical_gradient(lambda c: to_loss(c @ p["W_o"].T, p), concat)
rows = np.array([slip[1, :6], dconcat[1, :6], truth[1, :6]])
names = ["published way", "your repair", "measured"]
show_matrix(rows, rows=names, caption="Gradient of the heads' outputs", decimals=4)

# %% [markdown]
# Carry your repair on to the end, with your own functions of lessons 15 and 16. First to the
# queries, keys and values of both heads (the head axis stands in front):

# %%
split_heads, attention_backward = mine("split_heads"), mine("attention_backward")
embedding_backward = mine("embedding_backward")
Q, K, V = X @ p["W_q"], X @ p["W_k"], X @ p["W_v"]
dQ, dK, dV = attention_backward(split_heads(dconcat, 2), Q, K, V, weights)
repaired = book.gradients | {"W_q": X.T @ dQ, "W_k": X.T @ dK, "W_v": X.T @ dV}

# %% [markdown]
# Then to X, which all three were made from, and to the tables. How many errors are left?

# %%
pairs = [(dQ, p["W_q"]), (dK, p["W_k"]), (dV, p["W_v"])]
dX = sum((d @ W.swapaxes(-1, -2)).sum(axis=0) for d, W in pairs)
repaired["E_token"], repaired["E_pos"] = embedding_backward(dX, book.tokens, 6, 5)
both = {"published": book.gradients, "repaired": repaired}
table = [[error(*slopes(book_loss, p, name, g[name])) for g in both.values()] for name in p]
show_matrix(np.array(table), list(p), list(both), caption="Errors (1 = 100 %)", decimals=6)

# %% [markdown]
# One matrix transposed, and all <<blocks>> blocks are right. You have found and repaired a slip in
# a published calculation, and you can prove it.

# %%
from byhand import show_certificate

checked = own_checked + sum(array.size for array in repaired.values())
print(f"final loss {losses[-1]:.4f}; {checked} parameters checked")
show_certificate(final_loss=losses[-1], parameters_checked=checked)

# %% [markdown]
# ## What a colleague might ask
#
# <details><summary>Could the author have noticed?</summary>
#
# Hardly from the training. With the slip, the loss of that model falls from <<published_start:.2f>>
# to <<slipped_20:.2f>> in 20 steps; repaired, to <<right_20:.2f>>. It learns either way, and nobody
# knows beforehand how fast it should. Shapes do not tell either, as `W_o` is square. Anyone could
# have made this slip; only measuring shows it.
#
# </details>
#
# <details><summary>Why three directions, if one would do?</summary>
#
# Along a single direction, errors of different entries could happen to cancel. With random
# directions that is very unlikely once, and far more so three times in a row. Entry by entry, as you
# did for `dattended`, nothing can cancel, but it takes two measurements for each number.
#
# </details>
#
# <details><summary>Is a model that knows one sentence worth anything?</summary>
#
# Not as a model: it has learned by heart. But every number moved as it would in a large one. A real
# training run repeats this very step, with other text each time, more blocks and more memory, some
# hundred thousand times.
#
# </details>
#
# **Where this sits in the training step:** it is the training step, from the token ids to new
# parameters; repeated, it is training.
