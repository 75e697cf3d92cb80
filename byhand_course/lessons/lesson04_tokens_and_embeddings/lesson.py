# %% [markdown]
# A model computes with vectors, and people write text. Two steps lead from one to the other: a
# **tokeniser** cuts text into pieces, each with a number, its **id**; an **embedding table** holds
# one vector for each id. Both are simpler than their names.

# %%
from itertools import pairwise

import numpy as np

from byhand import check, show_matrix

# %% [markdown]
# Cut into words, every new word is unknown; cut into letters, texts get long. **Byte-pair encoding**
# starts from letters and applies **merges** in order, each joining one pair wherever it stands:
#
# <<shown_merges>>
#
# <<exercise:merges-by-hand>>
#
# Now split *<<hand_word>>*. Merges: <<hand_merges>>.

# %% exercise="merges-by-hand"

# %%
check(merges_by_hand=merges_by_hand)

# %% [markdown]
# <<exercise:merge-pair>>
#
# Write one merge. Mind runs such as `a a a`: from left to right, the first two join, and the third
# is left alone. It should work for strings and for bytes; `+` joins both.

# %% exercise="merge-pair"

# %%
check(merge_pair)

# %% [markdown]
# Where do merges come from? They are counted: join the most frequent pair, and count again. Which
# pair of letters will be first in this text?

# %%
text = "the cat sat, the mat sat"
tokens, merges = list(text), []
for _ in range(7):
    pairs = list(pairwise(tokens))
    most_frequent = max(pairs, key=pairs.count)  # the first of equals
    tokens = merge_pair(tokens, most_frequent)
    merges.append(most_frequent)
    print(pairs.count(most_frequent), "times", most_frequent, "→", "|".join(tokens))

# %% [markdown]
# *the* has become one token, space and all, and nobody told it what a word is.
#
# One thing is missing: letters that were never seen. There are too many characters to list, but
# only 256 **bytes**, and UTF-8 writes every character with one to four of them.

# %%
for character in ["t", "é", "漢", "🙂"]:
    numbers = list(character.encode("utf-8"))
    print(character, "has the bytes", numbers, "or as tokens", [bytes([n]) for n in numbers])

# %% [markdown]
# <<exercise:encode>>
#
# Write the tokeniser: split a text into single bytes, then apply all merges in the order learned.
# Spaces and capitals are bytes like all others.

# %% exercise="encode"

# %%
check(encode)

# %% [markdown]
# Look: text known, half known and unknown. Which will be cut into the smallest pieces? Is any of
# them lost?

# %%
in_bytes = [(left.encode(), right.encode()) for left, right in merges]
for text in ["the cat sat", "theatre", "transformers", "the café 🙂"]:
    tokens = encode(text, in_bytes)
    whole = b"".join(tokens).decode("utf-8")
    print(f"{text}: {len(tokens)} tokens, put together: {whole}")
    print("   ", *tokens)

# %% [markdown]
# A token's **id** is its place in a list: first the 256 bytes, then one entry for each merge. GPT-2
# has 50,000 merges. To keep every matrix in sight, our model knows ten whole words:

# %%
vocabulary = ["<PAD>", "<BOS>", "<EOS>", "I", "like", "transformers", "the", "cat", "sat", "mat"]
sentence = ["<BOS>", "I", "like", "transformers", "<EOS>"]
ids = np.array([vocabulary.index(word) for word in sentence])
print(ids)

# %% [markdown]
# Ids are names, not amounts: *cat* (<<cat_id>>) is not more than *I* (<<i_id>>). So each id picks one row of a
# table of vectors, and training fills the table.
#
# <<exercise:embedded-shape>>
#
# Predict. `ids` has shape <<ids_shape>>, two sentences of five tokens. The table has shape
# <<table_shape>>. Which shape have the vectors?

# %% exercise="embedded-shape"

# %%
check(embedded_shape=embedded_shape)

# %% [markdown]
# <<exercise:embed>>
#
# Write the look-up. NumPy can do it for all ids at once, whatever their shape.

# %% exercise="embed"

# %%
check(embed)

# %% [markdown]
# Look: a sentence in which a word comes twice. Which rows will be equal?

# %%
table = np.random.default_rng(4).normal(size=(10, 6))  # six features, to fit on a page
words = ["<BOS>", "the", "cat", "sat", "the", "mat", "<EOS>"]
vectors = embed(np.array([vocabulary.index(word) for word in words]), table)
show_matrix(vectors, rows=words, caption=f"One token a row: {vectors.shape}")

# %% [markdown]
# Equal words have equal vectors, wherever they stand. Remember that for lesson 5.
#
# <<exercise:one-hot>>
#
# A look-up is a matrix product in disguise. Write each id as a **one-hot** row: zeros, and a single
# 1 in the id's own column. What will such a row, times the table, give?

# %% exercise="one-hot"

# %%
check(one_hot)

# %% [markdown]
# Look: is the product with the table the same as the look-up?

# %%
rows = one_hot(ids, len(vocabulary))
print("largest difference:", np.abs(rows @ table - embed(ids, table)).max())
show_matrix(rows, rows=sentence, columns=vocabulary, caption="One 1 a row", decimals=0)

# %% [markdown]
# Each row of zeros and a 1 picks one row of the table. The look-up only skips all products with 0.
#
# ## What a colleague might ask
#
# <details><summary>Why not simply use words as tokens?</summary>
#
# A list of words is never complete: names, typing errors, endings and other languages would all
# become "unknown". With bytes to fall back on nothing is ever unknown, while frequent words still
# cost a single token.
#
# </details>
#
# <details><summary>Who chooses the numbers in the table?</summary>
#
# Nobody. They start at random and are parameters like all others: each training step moves the rows
# of the tokens that it has seen (lesson 16). Words used alike end up with similar vectors.
#
# </details>
#
# <details><summary>If a look-up is a matrix product, why not compute the product?</summary>
#
# It would multiply nearly everything by 0: <<vocab_size>> times <<d_model>> multiplications for
# each token here, and <<gpt2_millions:.1f>> million in the smallest GPT-2. The product is worth knowing for the backward
# pass, where it tells at once what the table's gradient is.
#
# </details>
#
# **Where this sits in the training step:** it is the very first step: a sentence becomes ids, and
# ids become the rows of `X` that everything else works on.
