# %% [markdown]
# One head gives each token **one** row of weights. But "transformers" may want two things at once:
# who acts (*I*), and what is done (*like*). Several small heads each take a softmax of their own,
# and each finds its own thing.

# %%
import numpy as np

from byhand import check, mine, show_matrix

attention_scores, scale_scores = mine("attention_scores"), mine("scale_scores")
attention_weights, attend = mine("attention_weights"), mine("attend")
qkv, causal_mask = mine("qkv"), mine("causal_mask")
tokens = ["<BOS>", "I", "like", "transformers", "<EOS>"]

# %% [markdown]
# `X @ W_q` holds the queries of **all** heads side by side: head 0 owns the first columns, head 1
# the next. To see what happens to them, give every feature a number that can be read: feature $f$
# of token $t$ is $10t + f$.

# %%
labelled = 10 * np.arange(5)[:, None] + np.arange(6)
show_matrix(labelled, rows=tokens, caption="Six features; two heads get three each")

# %% [markdown]
# The heads need the shape (num_heads, T, d_head) = (2, 5, 3). `reshape` can make that in one step.
# Predict what it puts into row 1 of head 0, which belongs to *I*; then run.

# %%
cut_anew = labelled.reshape(2, 5, 3)
show_matrix(cut_anew[0], rows=tokens, caption="Head 0, if we only reshape")

# %% [markdown]
# The second half of `<BOS>` has landed in the row of *I*: `reshape` never moves a number, it only
# cuts the line anew. The shape is right and the content is wrong.
#
# <<exercise:split-heads>>
#
# Split so that every head keeps all tokens, and `10 t + f` stays readable.

# %% exercise="split-heads"

# %%
check(split_heads)

# %% [markdown]
# Look at head 1 of the labelled tokens. Which features should it own?

# %%
heads = split_heads(labelled, 2)
print("shape:", heads.shape)
show_matrix(heads[1], rows=tokens, caption="Head 1")

# %% [markdown]
# <<exercise:merge-heads>>
#
# Later, what the heads found goes back into one row for each token, head 0 first. Merging what
# you split must give the tokens you started from.

# %% exercise="merge-heads"

# %%
check(merge_heads)

# %% [markdown]
# <<exercise:attention>>
#
# With the heads in front, your functions of lesson 7 serve all of them in one call: `@` repeats
# itself over leading axes. Put the steps together, with a mask from outside. (Rows that may look
# nowhere are not checked.)

# %% exercise="attention"

# %%
check(attention)

# %% [markdown]
# Now two heads with weights made by hand. Each token is only a mark of its place. Head 0 asks for
# the place before its own, head 1 for the first place.

# %%
X = np.eye(5)  # token t has a 1 in feature t
to_previous = 6 * np.eye(5, k=-1)
to_first = 6 * np.outer(np.ones(5), X[0])
W_q, W_k = np.hstack([to_previous, to_first]), np.hstack([np.eye(5), np.eye(5)])
Q_heads, K_heads = split_heads(X @ W_q, 2), split_heads(X @ W_k, 2)
output, weights = attention(Q_heads, K_heads, K_heads, causal_mask(5))
show_matrix(weights[0], rows=tokens, columns=tokens, caption="Head 0: where each token looks")

# %% [markdown]
# The mask hides <<hidden_pairs>> pairs, and below it a band: each token looks at the one before.
# What will head 1 look like?

# %%
show_matrix(weights[1], rows=tokens, columns=tokens, caption="Head 1: where each token looks")

# %% [markdown]
# <<exercise:one-head-or-several>>
#
# Predict. In the course's model `W_q`, `W_k`, `W_v` and `W_o` are (16, 16). We change from one head
# with 16 features to two heads with 8 each. What does the model have then? (A *pattern* is one row
# of weights.)

# %% exercise="one-head-or-several"

# %%
check(one_head_or_several=one_head_or_several)

# %% [markdown]
# Count it:

# %%
rng = np.random.default_rng(10)
X, W_q, W_k = rng.normal(size=(5, 16)), *rng.normal(0, 0.3, size=(2, 16, 16))
for h in (1, 2, 4):
    Q_heads, K_heads = split_heads(X @ W_q, h), split_heads(X @ W_k, h)
    patterns = attention(Q_heads, K_heads, K_heads, causal_mask(5))[1]
    print(f"heads: {h}, numbers in W_q: {W_q.size}, weights: {patterns.shape}")

# %% [markdown]
# What is a second pattern good for? "transformers" wants *who* from *I* and *what* from *like*. One
# head has to ask for both words with one query; two heads ask separately.

# %%
places = np.eye(3)  # the keys of I, like, transformers
found = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])  # the values: who, what
who, what = 12 * places[:1], 12 * places[1:2]
one, _ = attention(who + what, places, found)
head_0, _ = attention(who, places, found[:, :1])
head_1, _ = attention(what, places, found[:, 1:])
both = np.vstack([one, np.hstack([head_0, head_1])])
show_matrix(both, rows=["one large head", "two small heads"], columns=["who", "what"])

# %% [markdown]
# One softmax must share its weight between the two words, so each arrives by half. Two heads bring
# both in full.
#
# <<exercise:multi-head-attention>>
#
# Now the whole: project, split, attend with the causal mask, merge, and mix what the heads found
# with $W_o$.

# %% exercise="multi-head-attention"

# %%
check(multi_head_attention)

# %% [markdown]
# Measure: the same matrices and tokens, read as 1, 2 or 4 heads. Which rows of the outputs
# will agree in spite of that?

# %%
W_v, W_o = rng.normal(0, 0.3, size=(2, 16, 16))
outputs = [multi_head_attention(X, W_q, W_k, W_v, W_o, h) for h in (1, 2, 4)]
apart = [np.abs(output - outputs[0]).max(axis=-1) for output in outputs]
names = ["1 head", "2 heads", "4 heads"]
show_matrix(np.array(apart), rows=names, columns=tokens, caption="How far from one large head")

# %% [markdown]
# `<BOS>` sees only itself. From the next token on, `num_heads` matters, though no weight shows it.
#
# <<exercise:head-parameters>>
#
# On paper: d_model = <<d_model>>, and <<num_heads>> heads, each with d_k = <<d_k>> and
# d_v = <<d_v>>. How many parameters have `W_q`, `W_k`, `W_v` and `W_o` together?

# %% exercise="head-parameters"

# %%
check(head_parameters=head_parameters)

# %% [markdown]
# In the course's model it is $4 \cdot 16^2 = <<course_parameters>>$, for any number of heads.
#
# ## What a colleague might ask
#
# <details><summary>Why not give every head the full width?</summary>
#
# It could be done, and would cost num_heads times as much. With d_k = d_model / num_heads, several
# heads cost what one would: as many parameters, and as many multiplications for the scores.
#
# </details>
#
# <details><summary>What is W_o for? The features are merged already.</summary>
#
# After the merge, what head 0 found sits in the first columns and nowhere else. $W_o$ lets each
# head write to any feature of the token, and adds up what the heads wrote.
#
# </details>
#
# <details><summary>Do heads really learn different things?</summary>
#
# Some do: heads that look one token back, or at the first token, as above, have been found in
# trained models. Nothing forces them to differ but their different random start, and many can be
# removed after training with little harm.
#
# </details>
#
# **Where this sits in the training step:** every block calls it once, between its first norm and
# its first sum; it is the only place where tokens exchange anything.
