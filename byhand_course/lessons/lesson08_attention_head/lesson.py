# %% [markdown]
# All the pieces are on the table: queries, keys, values, scores, the root, softmax, the mix. Put
# together, they are one **attention head**. You carry a token through it by hand, write it, and
# then read what it looks at.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

# %% [markdown]
# Your own functions from lessons 6 and 7. If one is not finished yet, this cell says which.

# %%
qkv = mine("qkv")
attention_scores = mine("attention_scores")
scale_scores = mine("scale_scores")
attention_weights = mine("attention_weights")
attend = mine("attend")

# %% [markdown]
# <<exercise:head-weights-shape>>
#
# Predict. `X` has shape <<tokens_shape>>; `W_q`, `W_k` and `W_v` are <<weight_shape>> each. What
# shape do the attention weights have, those that softmax gives?

# %% exercise="head-weights-shape"

# %%
check(head_weights_shape=head_weights_shape)

# %% [markdown]
# A whole head with real numbers. Two tokens, and a query of four features:
#
# $$X = <<hand_x>> \qquad W_q = <<hand_w_q>>$$
#
# Token 0 asks with $q_0 = <<query_0>>$:
#
# <<worked_token>>
#
# It gets $<<mix_0>> = <<output_0>>$.
#
# <<exercise:head-by-hand>>
#
# Now token 1, with $e^2 = <<e_2:.2f>>$ and $e^3 = <<e_3:.2f>>$. Keys and values stay as in the
# table. What does it get?

# %% exercise="head-by-hand"

# %%
check(head_by_hand=head_by_hand)

# %% [markdown]
# <<exercise:attention-head>>
#
# Write those lines for all tokens at once. Call your five functions, or write everything out, in
# some 20 lines. A batch may stand in front: `X` can be (B, T, d_model). Return the output **and**
# the weights: they are what people look at.

# %% exercise="attention-head"

# %%
check(attention_head)

# %% [markdown]
# Does it behave on random tokens? What do you expect of each row's sum, and of each column's?

# %%
rng = np.random.default_rng(8)
X, (W_q, W_k, W_v) = rng.normal(size=(5, 16)), rng.normal(size=(3, 16, 8)) / 4
output, weights = attention_head(X, W_q, W_k, W_v)
print("shapes:            ", output.shape, weights.shape)
print("sum of each row:   ", weights.sum(axis=1).round(10))
print("sum of each column:", weights.sum(axis=0).round(2))

# %% [markdown]
# Now a head that can be read. We chose its weights ourselves: an article asks for a noun, a noun
# for a verb, a verb for a noun.

# %%
words = ["<BOS>", "the", "cat", "sat", "<EOS>"]
X = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]])
kinds = ["mark", "article", "noun", "verb"]
W_q = np.array([[1, 1], [6, 0], [0, 3], [4, 1]])  # asks for: noun, verb
W_k = np.array([[0.5, 0], [0, 0.5], [1, 0], [0, 1]])  # offers: noun, verb
W_v = np.eye(4)[:, 1:]  # hands over: its kind, unless it is a mark
show_matrix(X @ W_q, rows=words, columns=["noun", "verb"], caption="What each token asks for")

# %% [markdown]
# Its weights as a heat map: the token that asks at the left, the token that it looks at below.
# Which cells should be dark?

# %%
output, weights = attention_head(X, W_q, W_k, W_v)
figure, axes = plt.subplots(figsize=(4.6, 3.8))
image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=1)
axes.set(xticks=range(5), yticks=range(5), xticklabels=words, yticklabels=words)
axes.set(xlabel="is looked at (key)", ylabel="asks (query)")
for (t, s), weight in np.ndenumerate(weights):
    ink = "white" if weight > 0.65 else "black"
    axes.text(s, t, f"{weight:.2f}", ha="center", va="center", color=ink)
figure.colorbar(image, label="weight")
show_plot(figure, alt="Dark cells: the looks at cat, cat at sat, sat at cat; the marks are even.")

# %% [markdown]
# <<exercise:read-the-weights>>
#
# The same weights as numbers, a query a row:
#
# <<table>>
#
# Answer with two tokens: from which token does *cat* take most, and which token takes most from
# *cat*?

# %% exercise="read-the-weights"

# %%
check(read_the_weights=read_the_weights)

# %% [markdown]
# What did *cat* become? Compare its row with its value, (0, 1, 0).

# %%
show_matrix(output, rows=words, columns=kinds[1:], caption="Output: what each token took home")

# %% [markdown]
# Mostly verb: *cat* now knows what it did. That is all attention does: it carries something from
# one token to another.
#
# <<exercise:queries-of-zero>>
#
# Predict: all entries of `W_q` are set to 0, `W_k` and `W_v` stay. What does each token get?

# %% exercise="queries-of-zero"

# %%
check(queries_of_zero=queries_of_zero)

# %% [markdown]
# See it happen. Every row is the same, and equals the mean of the values:

# %%
output, weights = attention_head(X, np.zeros((4, 2)), W_k, W_v)
print("mean of the values:", (X @ W_v).mean(axis=0))
show_matrix(output, rows=words, columns=kinds[1:], caption="Output, if nobody asks for anything")

# %% [markdown]
# ## What a colleague might ask
#
# <details><summary>Why must the rows sum to 1, and not the columns?</summary>
#
# A row is one token's budget: its output is a weighted mean of values, so it stays in their range
# however long the sentence is. A column may sum to anything: a token that matters to many is looked
# at by many.
#
# </details>
#
# <details><summary>Does a large weight explain what the model thinks?</summary>
#
# Only in part. It says how much of a value was taken, not what that value holds, nor what later
# layers do with it. A large weight on a value near zero changes nothing. Heat maps are a good place
# to start asking, and a poor place to stop.
#
# </details>
#
# <details><summary>Does a token have to look at itself?</summary>
#
# No: *cat* gives itself little weight here. In a block nothing is lost by that, because the token
# itself is added back to what attention found (lesson 11).
#
# </details>
#
# **Where this sits in the training step:** a block runs such heads side by side, and their outputs
# are the only way in which a token learns of others.
