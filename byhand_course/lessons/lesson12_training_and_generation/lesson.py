# %% [markdown]
# All pieces are there. Now they become a **model**: it scores every token of the vocabulary as the
# next one. You measure how wrong it is, and let it write.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

embed_with_positions, layer_norm = mine("embed_with_positions"), mine("layer_norm")
transformer_block, softmax = mine("transformer_block"), mine("softmax")
softmax_with_temperature = mine("softmax_with_temperature")

# %% [markdown]
# A text is its own teacher. At every position the **target** is the token that comes next, so five
# tokens make four exercises at once:

# %%
words = ["<BOS>", "I", "like", "transformers", "<EOS>"]
vocabulary = ["<PAD>", "<BOS>", "<EOS>", *words[1:4], "the", "cat", "sat", "mat"]
ids = np.array([vocabulary.index(word) for word in words])
inputs, targets = ids[:-1], ids[1:]
for t in range(len(inputs)):
    print(" ".join(words[: t + 1]), "→", vocabulary[targets[t]])

# %% [markdown]
# The model's parameters lie in one flat dict. The names of block 0 begin with `blocks.0.`; here are
# all shapes of the course's model:

# %%
norm, square = (16,), (16, 16)
block = {"ln1_gamma": norm, "ln1_beta": norm}
block |= {"W_q": square, "W_k": square, "W_v": square, "W_o": square}
block |= {"ln2_gamma": norm, "ln2_beta": norm}
block |= {"W_1": (16, 64), "b_1": (64,), "W_2": (64, 16), "b_2": (16,)}
shapes = {"token_embedding": (10, 16), "position_embedding": (5, 16)}
shapes |= {f"blocks.0.{name}": shape for name, shape in block.items()}
shapes |= {"lnf_gamma": norm, "lnf_beta": norm, "W_out": (16, 10)}

# %% [markdown]
# Before training they are random. A weight matrix with $n$ inputs gets spread $1/\sqrt{n}$, and
# `W_out` a quarter of that; each $\gamma$ starts near 1, biases and $\beta$ near 0.


# %%
def draw(name, shape, rng):
    if "W_" in name:
        return rng.normal(0, shape[0] ** -0.5 / (4 if name == "W_out" else 1), shape)
    if "embedding" in name:
        return rng.normal(0, 1, shape)
    return rng.normal(1 if "gamma" in name else 0, 0.1, shape)


# %%
rng = np.random.default_rng(0)
params = {name: draw(name, shape, rng) for name, shape in shapes.items()}
print(sum(array.size for array in params.values()), "parameters")

# %% [markdown]
# `transformer_block` wants twelve of them, under their short names. This helper picks out those of
# one block:


# %%
def block_params(params, layer):
    prefix = f"blocks.{layer}."
    own = [name for name in params if name.startswith(prefix)]
    return {name.removeprefix(prefix): params[name] for name in own}


print(*block_params(params, 0))

# %% [markdown]
# In a call, two stars hand a dict over by name: `f(x, **block_params(params, 0))`.
#
# <<exercise:forward>>
#
# Embed with positions, run through **all** blocks, norm once more (`lnf`), multiply by `W_out`.
# There may be any number of blocks.

# %% exercise="forward"

# %%
check(forward)

# %% [markdown]
# Look at the logits: one row a position, one column for each token that could come next. Does the
# model know anything yet?

# %%
logits = forward(inputs, params)
show_matrix(logits, rows=words[:-1], columns=vocabulary, caption="Untrained logits")

# %% [markdown]
# How wrong is that? If the right token had probability $p$, the **surprise** is $-\ln p$. Three
# positions:
#
# <<table>>
#
# Their mean, <<mean:.2f>>, is the **cross-entropy**.

# %% [markdown]
# <<exercise:untrained-loss>>
#
# A model that has learned nothing: equal logits for all <<V>> tokens, at each of <<N>> positions.
# Which cross-entropy? ($\ln 2 = <<ln_2:.2f>>$, $\ln 5 = <<ln_5:.2f>>$)

# %% exercise="untrained-loss"

# %%
check(untrained_loss=untrained_loss)

# %% [markdown]
# Now for any logits. Softmax and logarithm, one after the other, go wrong when the model is very
# sure. What will be the last surprise?

# %%
for lead in (1.0, 100.0, 1000.0):
    p = softmax(np.array([lead, 0.0]))[1]
    with np.errstate(divide="ignore"):
        print(f"{lead:6g} behind the leader: p = {p:.3g}, surprise = {-np.log(p):.6g}")

# %% [markdown]
# The last one should be 1000. Take the logarithm on paper before you take it in NumPy:
#
# $$\ln p_i = s_i - \ln \sum_j e^{s_j}$$
#
# <<exercise:cross-entropy>>
#
# Logits of ten thousand must work, and a batch of sequences as well as a single one.

# %% exercise="cross-entropy"

# %%
check(cross_entropy)

# %% [markdown]
# Look: the loss before training, and the one that you predicted. Which of the two models hits it
# exactly, and why?

# %%
silent = params | {"W_out": np.zeros((16, 10))}
print("W_out all 0:    ", cross_entropy(forward(inputs, silent), targets))
print("random weights: ", cross_entropy(logits, targets))
print("ln 10:          ", np.log(10))

# %% [markdown]
# Training (lesson 18) lowers it step by step. For one sentence there is a short cut: with the
# identity for `W_out` you see the normed stream, and can solve for the `W_out` that makes the logits
# we want. After "I like" we leave *cat* and *mat* a chance.

# %%
stream = forward(inputs, params | {"W_out": np.eye(16)})
wanted = 4 * np.eye(10)[targets]
wanted[2, vocabulary.index("cat")] = 3
wanted[2, vocabulary.index("mat")] = 2
trained = params | {"W_out": np.linalg.pinv(stream) @ wanted}
learned = forward(inputs, trained)
print("loss:", cross_entropy(learned, targets))
show_matrix(learned, rows=words[:-1], columns=vocabulary, caption="Logits with the new W_out")

# %% [markdown]
# Now let it write. The logits of the last row become probabilities, at a **temperature** $\tau$
# (lesson 3): $\text{softmax}(s / \tau)$.
#
# <<exercise:odds-at-half>>
#
# At $\tau = 1$ one token is 8 times as likely as another. Predict the odds at $\tau = 1/2$.

# %% exercise="odds-at-half"

# %%
check(odds_at_half=odds_at_half)

# %% [markdown]
# Look: what comes after "I like", at three temperatures. At which of them do you expect the most
# surprising texts?

# %%
after_like, temperatures = learned[2], [0.5, 1.0, 3.0]
figure, axes = plt.subplots(figsize=(7, 3.2))
for place, hatch in enumerate(["", "//", ".."]):
    p = softmax_with_temperature(after_like, temperatures[place])
    centre = np.arange(10) + 0.27 * (place - 1)
    axes.bar(centre, p, 0.27, hatch=hatch, edgecolor="black", label=temperatures[place])
axes.set(xticks=range(10), ylabel="probability")
axes.set_xticklabels(vocabulary, rotation=30, ha="right")
axes.legend(title="temperature")
show_plot(figure, alt="<<plot_alt>>")

# %% [markdown]
# <<exercise:sample>>
#
# Draw one token. Temperature 0 means the likeliest, without chance; below 0, raise a `ValueError`.
# All chance comes from `rng`, so that a seed repeats a draw. Any right way to draw counts; the check
# looks at the `frequency` of each id in 500 draws, and whether the `same_seed` draws the same.

# %% exercise="sample"

# %%
check(sample)

# %% [markdown]
# Look: 200 draws at each temperature. Compare them with the bars above.

# %%
rng = np.random.default_rng(1)
rows = [0, *temperatures]
drawn = [[sample(after_like, row, rng) for _ in range(200)] for row in rows]
shares = np.array([np.bincount(those, minlength=10) / 200 for those in drawn])
show_matrix(shares, rows=rows, columns=vocabulary, caption="Shares of 200 draws")

# %% [markdown]
# <<exercise:generate>>
#
# One token after the other: score, sample, append, again. Stop after `stop_id`, after
# `max_new_tokens`, or when `position_embedding` has no row for one more. (A text to continue never
# ends with `stop_id`.)

# %% exercise="generate"

# %%
check(generate)

# %% [markdown]
# Let it write from `<BOS>`, three texts at each temperature. Which will be three times the same?

# %%
rng = np.random.default_rng(2)
for temperature in (0, 1.0, 3.0):
    for _ in range(3):
        written = generate(ids[:1], trained, 4, temperature, rng)
        print(f"{temperature:3}:", *[vocabulary[token] for token in written])

# %% [markdown]
# At 0 it recites; hotter, it leaves the path. Off the path it has seen nothing, and babbles.
#
# ## What a colleague might ask
#
# <details><summary>Is a loss of 2.3 good or bad?</summary>
#
# Compare it with ln V, the loss of equal logits. And take $e$ to its power: the **perplexity**, the
# number of equally likely tokens that the model hesitates between. For <<V>> tokens a loss of
# <<untrained:.2f>> means <<V>>: no idea. For 50 000 tokens it would be excellent.
#
# </details>
#
# <details><summary>Why not simply count how often the likeliest token is right?</summary>
#
# That count jumps and has no slope, so training could not follow it. Cross-entropy falls with every
# bit of probability that moves to the right token, and punishes being sure and wrong most of all.
#
# </details>
#
# <details><summary>Does temperature 0 give the likeliest text?</summary>
#
# Not always. It takes the likeliest *next* token each time; a token less likely now may lead to a
# text that is likelier as a whole. In large models it also tends to run in circles.
#
# </details>
#
# **Where this sits in the training step:** logits and loss end the forward pass. From that one
# number the backward pass starts (lesson 13); generation is the forward pass alone, repeated.
