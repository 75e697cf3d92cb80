# %% [markdown]
# One dot product asks one question of a token. A model asks many at once: each **column** of a
# weight matrix $W$ is one question, and a whole sequence is asked all of them in a single product,
# `X @ W`.

# %%
import numpy as np

from byhand import check, show_matrix

# %% [markdown]
# <<exercise:projected-shape>>
#
# Predict before anything is run. `X` has shape <<tokens_shape>>: the five tokens of "I like
# transformers" with their start and end marks, 16 features each. `W` has shape <<weight_shape>>.
# Which shape has `X @ W`?

# %% exercise="projected-shape"

# %%
check(projected_shape=projected_shape)

# %% [markdown]
# Each entry is one dot product: a row of $X$ with a column of $W$. Take
#
# $$X = <<hand_x>> \qquad W = <<hand_w>>$$
#
# Row 0, column 0: $<<row_0>> \cdot <<column_0>> = <<entry_terms>> = <<entry>>$.
#
# <<exercise:row-by-hand>>
#
# Work out all of row 1 of $XW$ (rows count from 0).

# %% exercise="row-by-hand"

# %%
check(row_by_hand=row_by_hand)

# %% [markdown]
# <<exercise:what-a-row-needs>>
#
# Now in general, for matrices with more rows. Somebody wants to know row 2 of `X @ W`, the whole
# row, and nothing else. Which numbers do they need?

# %% exercise="what-a-row-needs"

# %%
check(what_a_row_needs=what_a_row_needs)

# %% [markdown]
# <<exercise:project>>
#
# Write the projection for any sequence. Loops over dot products are welcome, and so is the one sign
# that replaces them. Write the shapes beside your line.

# %% exercise="project"

# %%
check(project)

# %% [markdown]
# Look at one with weights that can be read. The columns of `W` ask: how much of feature 0? What is
# feature 1 minus feature 2? What is the mean of all three?

# %%
X = np.array([[4, 0, 2], [1, 5, 3], [0, 1, 8], [3, 3, 3]])
W = np.array([[1, 0, 1 / 3], [0, 1, 1 / 3], [0, -1, 1 / 3]])
questions = ["feature 0", "1 minus 2", "mean"]
tokens = [f"token {t}" for t in range(len(X))]
show_matrix(project(X, W), rows=tokens, columns=questions, caption="Each row: one token's answers")

# %% [markdown]
# Change one token, and see who notices. How many rows of the next table will not be zero?

# %%
changed = X.copy()
changed[1] = [9, 9, 0]
difference = project(changed, W) - project(X, W)
show_matrix(difference, rows=tokens, columns=questions, caption="What a change of token 1 does")

# %% [markdown]
# Only its own row. A projection never mixes tokens; attention alone will do that.
#
# <<exercise:project-batch>>
#
# Training feeds several sequences at once: `X` becomes (B, T, d_model), and all of them share one
# `W`. Write the projection for such a batch.

# %% exercise="project-batch"

# %%
check(project_batch)

# %% [markdown]
# Look: is every sequence of the batch projected as if it were alone?

# %%
rng = np.random.default_rng(2)
batch, weight = rng.normal(size=(3, 5, 16)), rng.normal(size=(16, 8))
together = project_batch(batch, weight)
alone = np.stack([project(sequence, weight) for sequence in batch])
print("shape:", together.shape)
print("largest difference:", np.abs(together - alone).max())

# %% [markdown]
# <<exercise:transposed-weight>>
#
# One trap is left. Inside attention, the output weight $W_o$ is square: (16, 16). A program says
# `X @ W_o.T` where it should say `X @ W_o`, and `X` is (5, 16). Predict what comes out.

# %% exercise="transposed-weight"

# %%
check(transposed_weight=transposed_weight)

# %% [markdown]
# See how quietly it goes wrong:

# %%
X, W_o = rng.normal(size=(5, 16)), rng.normal(size=(16, 16))
right, wrong = project(X, W_o), project(X, W_o.T)
print("shapes:", right.shape, wrong.shape)
print("entries that agree:", np.isclose(right, wrong).sum(), "of", right.size)

# %% [markdown]
# A shape error would have been a kindness. In lesson 18 you will hunt down a published calculation
# that made a slip of just this kind.
#
# ## What a colleague might ask
#
# <details><summary>My textbook writes Wx, with the matrix on the left. Who is right?</summary>
#
# Both. A textbook writes a vector as a column, so its matrix is (out, in) and stands on the left.
# We write tokens as rows, so ours is (in, out) and stands on the right. One is the other
# transposed.
#
# </details>
#
# <details><summary>Is this a projection in the sense of geometry?</summary>
#
# Usually not. In geometry, projecting twice gives the same as projecting once. In machine learning
# the word only means "multiplied by a weight matrix".
#
# </details>
#
# <details><summary>How much work is one projection?</summary>
#
# Every entry is a dot product of `d_model` numbers, so there are T · d_model · d_k multiplications:
# <<multiplications>> for the first question of this notebook. It grows in proportion to the number
# of tokens.
#
# </details>
#
# **Where this sits in the training step:** queries, keys, values, both layers of the feed-forward
# part and the logits are all made by such products, and most of the backward pass is too.
