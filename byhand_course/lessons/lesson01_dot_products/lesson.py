# %% [markdown]
# Attention asks one question over and over: how well do these two vectors match? Its answer is a
# single number, the **dot product**. Here you work one out by hand, write it in NumPy, and find out
# when a larger one means "more similar".

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, show_matrix, show_plot

# %% [markdown]
# A model turns each word into a vector. Its numbers, the **features**, are learned and carry no
# names. We chose these by hand, so that you can read them. Which word looks most like *cat*?

# %%
words = ["cat", "dog", "tiger", "sofa", "mat", "sat"]
animal = [0.9, 1.4, 2.8, -0.3, -0.2, 0.1]
at_home = [0.6, 1.2, -0.4, 1.5, 0.7, 0.2]
moves = [0.4, 0.7, 1.5, -0.2, -0.3, 0.8]
vectors = np.stack([animal, at_home, moves], axis=1)  # (6, 3): one word a row
features = ["animal", "at home", "moves"]
show_matrix(vectors, rows=words, columns=features, caption="One word a row, one feature a column")

# %% [markdown]
# Multiply feature by feature, then add up the products:
#
# $$a \cdot b = \sum_i a_i b_i$$
#
# For $a = <<shown_a>>$ and $b = <<shown_b>>$:
# $<<shown_terms>> = <<shown_products>> = <<shown_dot>>$. A feature in which both have the same sign
# adds to the sum; one in which the signs differ takes away from it.
#
# <<exercise:dot-by-hand>>
#
# Now you, on paper: $a = <<hand_a>>$, $b = <<hand_b>>$.

# %% exercise="dot-by-hand"

# %%
check(dot_by_hand=dot_by_hand)

# %% [markdown]
# <<exercise:dot>>
#
# The same two steps for vectors of any length. NumPy has the dot product built in; write it once
# from its steps, and it is yours.

# %% exercise="dot"

# %%
check(dot)

# %% [markdown]
# Which word will have the largest dot product with *cat*? Decide, then run the cell.

# %%
scores = np.array([dot(vectors[0], vector) for vector in vectors])
show_matrix(scores, columns=words, caption="Dot product of cat with each word")

# %% [markdown]
# *Tiger* beats *dog*, and even *cat* itself! Its vector is simply long. By Pythagoras the
# **length** of $a$ is $|a| = \sqrt{a \cdot a}$. Divide both lengths out, and the **cosine
# similarity** is left:
#
# $$\cos\theta = \frac{a \cdot b}{|a|\,|b|}$$
#
# <<exercise:three-times-as-long>>
#
# Predict: you replace $b$ by $3b$. What happens to $a \cdot b$ and to the cosine similarity?

# %% exercise="three-times-as-long"

# %%
check(three_times_as_long=three_times_as_long)

# %% [markdown]
# <<exercise:cosine-similarity>>
#
# Write the fraction above. Your own `dot` gives you everything you need: the top, and both lengths.

# %% exercise="cosine-similarity"

# %%
check(cosine_similarity)

# %% [markdown]
# Look at it from the side of the angle. We turn one vector of length 1 away from another. What will
# the dot product be at 90 degrees, and at 180?

# %%
angles = np.linspace(0, np.pi, 61)
fixed = np.array([1.0, 0.0])
turned = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # one vector of length 1 a row
figure, axes = plt.subplots(figsize=(5, 3))
axes.plot(np.degrees(angles), [dot(fixed, vector) for vector in turned])
axes.set(xlabel="angle (degrees)", ylabel="dot product", xticks=range(0, 181, 45))
axes.grid()
show_plot(
    figure, alt="The dot product falls all the way: 1 at 0 degrees, 0 at 90 and -1 at 180 degrees."
)

# %% [markdown]
# At length 1 there is nothing to divide out: the dot product *is* the cosine, and it falls all the
# way as the angle grows. Now all pairs of words. Why is the diagonal 1?

# %%
similarities = [[cosine_similarity(a, b) for b in vectors] for a in vectors]
show_matrix(similarities, rows=words, columns=words, caption="Cosine similarity of all pairs")

# %% [markdown]
# *Dog* is now closer to *cat* than *tiger* is.
#
# <<exercise:rank-by-similarity>>
#
# Order the rows of `vectors` by how similar they are to a query. `np.argsort` sorts upwards and
# returns positions, not values; its docstring says how to keep equal values in order.

# %% exercise="rank-by-similarity"

# %%
check(rank_by_similarity)

# %% [markdown]
# Look: the ranking for *cat*, and the one that bare dot products would give.

# %%
by_direction = rank_by_similarity(vectors[0], vectors)
by_dot_product = sorted(range(len(words)), key=lambda row: -scores[row])
print("by cosine similarity:", ", ".join(words[row] for row in by_direction))
print("by dot product:      ", ", ".join(words[row] for row in by_dot_product))

# %% [markdown]
# <<exercise:why-normalise>>
#
# A colleague asks: "Why does a larger dot product between *normalised* vectors mean that their
# directions are more similar?" Answer in two to four sentences. Say what normalising takes away,
# and what would go wrong without it.

# %% [markdown] exercise="why-normalise"

# %% [markdown]
# ## What a colleague might ask
#
# <details><summary>Why does attention use plain dot products, if length misleads?</summary>
#
# In attention, length is something to learn. A model may make a key long because its token matters
# to many others; dividing by lengths would take that away. Attention only divides by one fixed
# number, $\sqrt{d_k}$ (notebook 7).
#
# </details>
#
# <details><summary>Is a negative dot product an error?</summary>
#
# No. It says that the two vectors point more than 90 degrees apart. Softmax (notebook 3) later
# turns such a score into a small weight, never into a negative one.
#
# </details>
#
# <details><summary>What is the cosine similarity of a vector of zeros?</summary>
#
# It has none. A vector of length 0 points nowhere, and the fraction becomes 0/0, which NumPy calls
# `nan`. That is why the docstring leaves such vectors out.
#
# </details>
#
# **Where this sits in the training step:** every attention score is one dot product, of a query
# with a key.
