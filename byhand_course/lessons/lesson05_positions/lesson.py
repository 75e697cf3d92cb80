# %% [markdown]
# Who likes whom? The same words in another order say something else. Yet the tokens' vectors, as
# lesson 4 left them, are the same wherever they stand. Here you show that attention alone cannot
# see order, and cure it.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

softmax, embed = mine("softmax"), mine("embed")  # from lessons 3 and 4

# %% [markdown]
# Attention in its barest form: every token scores all tokens by dot products, softmax turns the
# scores into weights, and the weights mix the tokens. (The full form comes in lesson 7.)


# %%
def attention(X):
    weights = softmax(X @ X.T)  # (T, T), a row for each token
    return weights @ X


table = np.random.default_rng(1).normal(0, 0.4, size=(10, 6))  # one row for each word
vocabulary = ["<PAD>", "<BOS>", "<EOS>", "I", "like", "transformers", "the", "cat", "sat", "mat"]
words = ["I", "like", "transformers"]
ids = np.array([vocabulary.index(word) for word in words])

# %% [markdown]
# <<exercise:indistinguishable-pair>>
#
# Predict. Each word's output depends on its own vector and on those of all words there are. For
# which pair of sentences will every word get the same output in both? (`/` stands between the two.)

# %% exercise="indistinguishable-pair"

# %%
check(indistinguishable_pair=indistinguishable_pair)

# %% [markdown]
# Look at such a pair. Compare the rows of *I*:

# %%
backwards = words[::-1]
both = [attention(embed(ids, table)), attention(embed(ids[::-1], table))]
show_matrix(np.vstack(both), rows=words + backwards, caption="One sentence below the other")

# %% [markdown]
# The same rows, in the new order. One example is no proof, so measure it:
#
# <<exercise:permutation-gap>>
#
# Write a measure for **any** layer. Reorder the tokens, then apply the layer; or apply it, then
# reorder. How far apart are the two results? (`X[order]` holds the rows of `X` in a new order.)

# %% exercise="permutation-gap"

# %%
check(permutation_gap)

# %% [markdown]
# Now the demonstration: twenty tokens, a hundred random orders. What will the largest gap be?

# %%
rng = np.random.default_rng(2)
X = rng.normal(size=(20, 6))
gaps = [permutation_gap(attention, X, rng.permutation(20)) for _ in range(100)]
print("largest gap of all:", max(gaps))

# %% [markdown]
# Nothing but rounding: attention sees a bag of words. The cure is to **add** to every token a vector
# that says where it stands. The first transformers took waves: columns $2i$ and $2i+1$ of position
# $p$ hold the sine and the cosine of one angle,
#
# $$\frac{p}{10000^{2i/d_{model}}}$$
#
# In radians, so half a turn is $\pi$:

# %%
for angle in [0, 1, np.pi / 2, np.pi]:
    print(f"angle {angle:.2f}: sine {np.sin(angle):5.2f}, cosine {np.cos(angle):5.2f}")

# %% [markdown]
# With $d_{model} = <<features>>$ there are two pairs. Position <<shown_position>> has the angles
# <<fast_angle:g>> and <<slow_angle:g>>; its row is <<shown_row>>.
#
# <<exercise:position-by-hand>>
#
# Work out the row of position <<hand_position>>. $\sin <<hand_position>> = <<sin_hand:.2f>>$,
# $\cos <<hand_position>> = <<cos_hand:.2f>>$; for a small angle $x$, $\sin x \approx x$ and
# $\cos x \approx 1$.

# %% exercise="position-by-hand"

# %%
check(position_by_hand=position_by_hand)

# %% [markdown]
# <<exercise:sinusoidal-positions>>
#
# Write it for all positions at once. Mind that both columns of a pair share one angle, and that an
# odd `d_model` leaves a sine without its cosine.

# %% exercise="sinusoidal-positions"

# %%
check(sinusoidal_positions)

# %% [markdown]
# Look at it: 60 positions, 32 features. Which columns change from one position to the next, and
# which tell the beginning of a text from its end?

# %%
encoding = sinusoidal_positions(60, 32)
figure, axes = plt.subplots(figsize=(6, 4))
image = axes.imshow(encoding, cmap="RdBu", aspect="auto")
axes.set(xlabel="feature", ylabel="position")
figure.colorbar(image, label="value")
alt = "Left columns go up and down every few rows; to the right they turn ever more slowly."
show_plot(figure, alt=alt)

# %% [markdown]
# Fast hands and slow hands, like a clock: together they tell every position. And how alike are two
# positions? Take their dot product. What will it depend on?

# %%
show_matrix((encoding @ encoding.T)[:8, :8], caption="Dot products of positions", decimals=1)

# %% [markdown]
# Only on their **distance**: every diagonal holds one number.
#
# GPT-2, and our model, let training find the vectors instead: a second table, `position_embedding`,
# with a row for each place.
#
# <<exercise:embed-with-positions>>
#
# Look up both, and add them. Positions start at 0 in every sequence of a batch.

# %% exercise="embed-with-positions"

# %%
check(embed_with_positions)

# %% [markdown]
# Look: the pair from the beginning once more. Will *I* still have the same row in both?

# %%
learned = np.random.default_rng(3).normal(0, 0.4, size=(5, 6))  # as before any training
X, X_backwards = (embed_with_positions(one, table, learned) for one in (ids, ids[::-1]))
both = [attention(X), attention(X_backwards)]
show_matrix(np.vstack(both), rows=words + backwards, caption="The same two, with positions")

# %% [markdown]
# And measured, over a hundred random orders of twenty tokens:


# %%
def attention_with_positions(X):
    return attention(X + sinusoidal_positions(*X.shape))


rng = np.random.default_rng(2)
X = rng.normal(size=(20, 6))
orders = [rng.permutation(20) for _ in range(100)]
print("smallest gap:", min(permutation_gap(attention_with_positions, X, o) for o in orders))

# %% [markdown]
# Now order counts.
#
# ## What a colleague might ask
#
# <details><summary>Why add the position, instead of writing it beside the token?</summary>
#
# Side by side would be clean, but it makes every vector longer, and all matrices with it. In a sum
# both share the features, and training learns to keep them apart: with hundreds of features there
# is room.
#
# </details>
#
# <details><summary>Learned or sinusoidal: which is better?</summary>
#
# In the first transformer both did almost equally well. A learned table simply ends: our model knows
# nothing of a sixth position. Waves can be computed for any position, though models rarely work
# well far beyond the lengths they were trained on.
#
# </details>
#
# <details><summary>Does a causal mask not tell the order already?</summary>
#
# In part. When a token may only look back (lesson 9), the first sees one token and the last sees
# all, so reordering changes more than the order: your `permutation_gap` shows it. But within one
# layer a token still cannot tell in which order those before it came.
#
# </details>
#
# **Where this sits in the training step:** right after the look-up of tokens: `X` is the sum of
# token and position vectors, and both tables get gradients (lesson 16).
