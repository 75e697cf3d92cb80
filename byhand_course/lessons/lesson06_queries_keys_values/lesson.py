# %% [markdown]
# So far every token stands alone. **Attention** lets one token fetch something from the others. It
# works like looking a word up in a dictionary, with one change: every entry answers, and the better
# its key fits, the more it counts.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

softmax = mine("softmax")

# %% [markdown]
# A Python dictionary wants an exact match. What will the second line print?

# %%
home_of = {"cat": "sofa", "tiger": "jungle"}
print("cat:   ", home_of.get("cat"))
print("kitten:", home_of.get("kitten"))

# %% [markdown]
# You bring a **query**, it is compared with every **key**, and you carry away a **value**.
#
# <<exercise:match-roles>>
#
# A token says three things about itself. Which roles are they, in this order?
#
# 1. "This I pass on."
# 2. "This I am looking for."
# 3. "By this I can be found."

# %% exercise="match-roles"

# %%
check(match_roles=match_roles)

# %% [markdown]
# In a **soft** dictionary all three are vectors. Dot products score the keys, softmax makes weights,
# the weights blend the values. For the query <<shown_query>>:
#
# <<table>>
#
# <<exercise:look-up-by-hand>>
#
# Now the query <<hand_query>>. Key <<hand_key_0>> has value <<hand_value_0>>, key <<hand_key_1>> has
# value <<hand_value_1>>. Take $e^2 = <<e_2:.2f>>$.

# %% exercise="look-up-by-hand"

# %%
check(look_up_by_hand=look_up_by_hand)

# %% [markdown]
# <<exercise:soft-lookup>>
#
# Write it: for one query, for many, and for a batch. Your own `softmax` is at hand. In a batch,
# which axes of `keys` must change places, and which must stay?

# %% exercise="soft-lookup"

# %%
check(soft_lookup)

# %% [markdown]
# Look. The values here are the rows of the unit matrix, so each answer shows its own weights.
# What will a query of zeros get, and what a very long one?

# %%
names, keys = ["cat", "dog", "sofa"], np.array([[2.0, 1.0], [1.5, 1.5], [-1.0, 2.0]])
query = np.array([1.0, 0.2])  # something like a cat
factors = np.array([0, 1, 3, 20])
weights = soft_lookup(factors[:, None] * query, keys, np.eye(3))
rows = [f"{factor} · query" for factor in factors]
show_matrix(weights, rows=rows, columns=names, caption="A longer query is a more decided one")

# %% [markdown]
# From a plain average to nearly an ordinary dictionary. And what lies between the keys? We turn the
# query once around; each line is the weight of one key.

# %%
angles = np.linspace(0, 2 * np.pi, 121)
queries = 2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
weights = soft_lookup(queries, keys, np.eye(3))
figure, axes = plt.subplots(figsize=(5.5, 3))
for name, line, style in zip(names, weights.T, ["-", "--", ":"], strict=True):
    axes.plot(np.degrees(angles), line, style, label=name)
axes.set(xlabel="direction of the query (degrees)", ylabel="weight", xticks=range(0, 361, 90))
axes.legend()
show_plot(figure, alt="As the query turns, weight passes smoothly from one key to the next.")

# %% [markdown]
# Smooth everywhere: there are slopes to learn from. Now every token makes query, key and value from
# its own vector, by learned matrices: $Q = XW_q$, $K = XW_k$, $V = XW_v$.
#
# <<exercise:looked-up-shape>>
#
# Predict. `X` is <<x_shape>>, `W_q` and `W_k` are <<w_shape>>, `W_v` is <<w_v_shape>>. Which shape
# has `soft_lookup(Q, K, V)`?

# %% exercise="looked-up-shape"

# %%
check(looked_up_shape=looked_up_shape)

# %% [markdown]
# <<exercise:qkv>>
#
# Write the three projections. `X` may have a batch axis in front.

# %% exercise="qkv"

# %%
check(qkv)

# %% [markdown]
# Look: our sentence, with random vectors and matrices for now. Whom does each token look at? Read
# along the rows.

# %%
tokens = ["<BOS>", "I", "like", "transformers", "<EOS>"]
rng = np.random.default_rng(6)
X = rng.normal(size=(5, 16))
W_q, W_k, W_v = rng.normal(0, 0.2, size=(3, 16, 8))
Q, K, V = qkv(X, W_q, W_k, W_v)
found = soft_lookup(Q, K, np.eye(5))
show_matrix(found, rows=tokens, columns=tokens, caption="Row: who asks. Column: who is found.")

# %% [markdown]
# Nothing is learned yet. But the table is not symmetric: one token may look hard at another that
# hardly looks back.
#
# <<exercise:what-w-v-decides>>
#
# Predict. Somebody replaces `W_v` and touches nothing else. What changes: the weights in this table,
# or the answers `soft_lookup(Q, K, V)`?

# %% exercise="what-w-v-decides"

# %%
check(what_w_v_decides=what_w_v_decides)

# %% [markdown]
# Try each of the three in turn:

# %%
matrices = {"W_q": W_q, "W_k": W_k, "W_v": W_v}
answers = soft_lookup(Q, K, V)
for name, matrix in matrices.items():
    new = qkv(X, **{**matrices, name: matrix[::-1]})
    weights_move = not np.allclose(soft_lookup(new[0], new[1], np.eye(5)), found)
    answers_move = not np.allclose(soft_lookup(*new), answers)
    print(f"{name}: weights change: {weights_move}, answers change: {answers_move}")

# %% [markdown]
# `W_q` and `W_k` decide **where** a token looks, `W_v` decides **what** it gets there.
#
# ## What a colleague might ask
#
# <details><summary>Why three matrices? Would one vector for all three roles not do?</summary>
#
# If queries and keys were the same, scores would be symmetric: *like* would score *transformers*
# exactly as *transformers* scores *like*, and every token would tend to match itself. Yet a verb may
# need its object more than the object needs the verb. A value of its own lets a token be found by
# one thing and pass on another.
#
# </details>
#
# <details><summary>Who tells a matrix to make queries, and another to make keys?</summary>
#
# Nobody. They start out random. What makes one of them the query matrix is only its place in the
# formula; what it should ask for, it learns from the loss, through the gradients of lesson 15.
#
# </details>
#
# <details><summary>Must queries, keys and values have equally many features?</summary>
#
# Queries and keys must, since they meet in a dot product. Values may have any number, as in your
# prediction; most models, ours too, give all three the same.
#
# </details>
#
# **Where this sits in the training step:** these three projections are the first thing attention
# does with its input, and the last thing that its gradient passes on its way back.
