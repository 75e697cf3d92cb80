# %% [markdown]
# A GPT learns by predicting the next token, at every position of a sentence at once. If a position
# could look at the next token, it would copy it and learn nothing. Here you hide the future, and
# prove that it is hidden.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

qkv, attention_head = mine("qkv"), mine("attention_head")
attention_scores, scale_scores = mine("attention_scores"), mine("scale_scores")
attention_weights, attend = mine("attention_weights"), mine("attend")

# %% [markdown]
# Change the last token of a sentence, and run the head of lesson 8 again. Which rows of its output
# will move?

# %%
tokens = ["<BOS>", "I", "like", "transformers", "<EOS>"]
rng = np.random.default_rng(9)
X, weights = rng.normal(size=(5, 6)), 0.6 * rng.normal(size=(3, 6, 4))
changed = X.copy()
changed[4] = rng.normal(size=6)
moved = attention_head(changed, *weights)[0] - attention_head(X, *weights)[0]
show_matrix(moved, rows=tokens, caption="Output of the head: what a new last token changes")

# %% [markdown]
# All of them: `<BOS>` already knows how the sentence ends. When the model writes, there is no end
# yet to be known.
#
# <<exercise:causal-mask>>
#
# Mark the future: row $t$ has True for every token after $t$. A token does see itself.

# %% exercise="causal-mask"

# %%
check(causal_mask)

# %% [markdown]
# Look at it. Which row has no 1 at all, and why?

# %%
show_matrix(causal_mask(5), rows=tokens, columns=tokens, caption="1: may not be looked at")

# %% [markdown]
# A hidden key gets the score $-\infty$ **before** softmax, because $e^{-\infty} = 0$. Token 1 of
# four has the scaled scores $<<shown_row>>$. Masked, they are $<<shown_masked>>$; the powers of $e$
# are $<<shown_powers>>$ and the weights $<<shown_weights>>$.
#
# <<exercise:masked-row-by-hand>>
#
# Now token 2, counted from 0, with the scores $<<hand_row>>$; $e^1 = <<e_1:.2f>>$.

# %% exercise="masked-row-by-hand"

# %%
check(masked_row_by_hand=masked_row_by_hand)

# %% [markdown]
# <<exercise:zero-after-softmax>>
#
# Somebody saves the trouble with $-\infty$: they run softmax on all scores, and set the hidden
# **weights** to 0 afterwards. Predict what is wrong with that.

# %% exercise="zero-after-softmax"

# %%
check(zero_after_softmax=zero_after_softmax)

# %% [markdown]
# See it on random scores, and the cure: divide each row by what is left of it. That gives the
# masked weights, and is allowed. With $-\infty$, softmax does it for you.

# %%
scores, hidden = rng.normal(size=(5, 5)), causal_mask(5)
erased = np.where(hidden, 0, attention_weights(scores))
masked = attention_weights(np.where(hidden, -np.inf, scores))
print("sums, erased after softmax: ", erased.sum(axis=1).round(2))
print("sums, masked before softmax:", masked.sum(axis=1).round(2))
cured = erased / erased.sum(axis=1, keepdims=True)
print("largest difference after the cure:", np.abs(cured - masked).max().round(12))

# %% [markdown]
# <<exercise:masked-attention-head>>
#
# Your head of lesson 8 with one more step. All tokens of a sentence share one mask; a batch may
# stand in front, as before.

# %% exercise="masked-attention-head"

# %%
check(masked_attention_head)

# %% [markdown]
# Look: the same head, open and masked. Which row is the same in both, and which has no choice left?

# %%
figure, both = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
heads = {"open": attention_head, "masked": masked_attention_head}
for axes, (title, head) in zip(both, heads.items(), strict=True):
    head_weights = head(X, *weights)[1]
    axes.imshow(head_weights, cmap="Blues", vmin=0, vmax=1)
    axes.set(title=title, yticks=range(5), yticklabels=tokens, ylabel="asks")
    axes.set_xticks(range(5), tokens, rotation=45, ha="right")
    for (t, s), w in np.ndenumerate(head_weights):
        axes.text(s, t, f"{w:.2f}", ha="center", color="white" if w > 0.65 else "black")
show_plot(figure, alt="Masked: 0 above the diagonal, row 0 is all on itself, each row sums to 1.")

# %% [markdown]
# Zeros in a picture prove little; an experiment does: **change a future token, and nothing earlier
# may move.**
#
# <<exercise:leaks>>
#
# Write it for any head: `head(X)` returns one row a token. Some heads that it is tried on are
# causal, others leak, each in its own way. Which tokens must have changed before you may answer
# False?

# %% exercise="leaks"

# %%
check(leaks)

# %% [markdown]
# Now put your own two heads to your own test.

# %%
print("open head leaks:  ", leaks(lambda X: attention_head(X, *weights)[0], X))
print("masked head leaks:", leaks(lambda X: masked_attention_head(X, *weights)[0], X))

# %% [markdown]
# Writing text is **autoregressive**: predict a token, append it, predict the next one.
#
# <<exercise:appended-token>>
#
# A causal head has read four tokens, and its output has rows 0 to 3. A fifth token is appended, and
# the head runs again. Predict: which of the first four rows change?

# %% exercise="appended-token"

# %%
check(appended_token=appended_token)

# %% [markdown]
# See it grow, token by token. Feature 0 of the output, one run a row; read down a column.

# %%
grown = np.full((5, 5), np.nan)
for length in range(1, 6):
    output, _ = masked_attention_head(X[:length], *weights)
    grown[length - 1, :length] = output[:, 0]
runs = [f"{length} read" for length in range(1, 6)]
show_matrix(grown, rows=runs, columns=tokens, caption="Feature 0 of each token's output")

# %% [markdown]
# No number ever changes. So one pass over a whole sentence gives the same rows as reading it token
# by token: every position can be trained at once.
#
# ## What a colleague might ask
#
# <details><summary>I have seen -1e9 instead of minus infinity. Is that wrong?</summary>
#
# No: $e^{-10^9}$ is 0 in floating point, so the weights come out the same. They differ only where a
# whole row is hidden: $-\infty$ then gives most softmaxes `nan`, and -1e9 an even mix over the
# forbidden. A causal mask never hides a whole row, because a token sees itself.
#
# </details>
#
# <details><summary>Does the mask cost half of the computation?</summary>
#
# Ours computes all scores and throws nearly half of them away. Fast implementations skip blocks
# above the diagonal. When generating, earlier keys and values never change, so they are kept (a "KV
# cache") and only the new row is computed.
#
# </details>
#
# <details><summary>Do all transformers hide the future?</summary>
#
# No. A model that only has to understand a finished text, such as BERT, looks both ways, and learns
# by filling gaps instead of continuing. The mask belongs to the task, not to attention.
#
# </details>
#
# **Where this sits in the training step:** between the scaled scores and softmax, in every head.
# The backward pass needs no mask of its own: a weight of 0 passes no gradient on.
