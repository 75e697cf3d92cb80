# %% [markdown]
# Somebody at work asks: "How does attention work?" You have a whiteboard and five minutes. Here you
# collect the facts, work one sentence in your own numbers, rehearse against a clock, and answer the
# three questions that come next.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_certificate, show_levels, show_matrix, show_plot, show_timer

embed_with_positions, qkv, softmax = mine("embed_with_positions"), mine("qkv"), mine("softmax")
scale_scores, masked_attention_head = mine("scale_scores"), mine("masked_attention_head")

# %% [markdown]
# Sizes first: a wrong one on the board costs you a minute. The sentence is
# `<BOS> I like transformers <EOS>`, $d_{model} = <<d_model>>$, <<num_heads>> heads, a causal mask.
#
# <<exercise:board-facts>>
#
# Fill in the sheet, from memory:

# %% [markdown]
# | place | on the board |
# |---:|---|
# | 0 | rows of `X` |
# | 1 | columns of `Q`, in one head |
# | 2 | scores are divided by |
# | 3 | weights in one head |
# | 4 | sum of each row of weights |
# | 5 | how many of all its weights the mask sets to 0 |
# | 6 | tokens that *like* can see |
# | 7 | its largest weight, if its scores are all equal |

# %% exercise="board-facts"

# %%
check(board_facts=board_facts)

# %% [markdown]
# <<exercise:cost-of-twice-the-length>>
#
# The question about cost always comes. Predict: the text becomes **twice as long**. How much more
# work is it to make Q, K and V, and how much more to make the scores?

# %% exercise="cost-of-twice-the-length"

# %%
check(cost_of_twice_the_length=cost_of_twice_the_length)

# %% [markdown]
# Look: the multiplications in one layer of a larger model, at growing lengths. Both axes are
# logarithmic, so a power shows as a straight line. Where do you expect the two lines to cross?

# %%
lengths, d_model = 2 ** np.arange(6, 16), 768
projections = 4 * lengths * d_model**2  # Q, K, V and the output
scores_and_mix = 2 * lengths**2 * d_model
figure, axes = plt.subplots(figsize=(5.5, 3.2))
axes.loglog(lengths, projections, "o--", label="projections")
axes.loglog(lengths, scores_and_mix, "s-", label="scores and mix")
axes.set(xlabel="tokens", ylabel="multiplications")
axes.legend()
show_plot(figure, alt="<<plot_alt>>")

# %% [markdown]
# Below the crossing, at $2\,d_{model}$ tokens, the projections cost more; above it, the square wins.
#
# <<exercise:worked-row>>
#
# Now the heart of it: one token, in numbers. Write all that it goes through, for any sentence and
# any token of it. (The minutes include the rehearsal below.)

# %% exercise="worked-row"

# %%
check(worked_row)

# %% [markdown]
# Your sheet. Change the seed to a number of your own: the weights, and with them all numbers below,
# are then yours. Nothing is trained here; what matters is that every step can be followed.
# (Rounded weights may miss their sum by 0.01.)

# %%
seed = 13  # any whole number
rng = np.random.default_rng(seed)
words = ["<BOS>", "I", "like", "transformers", "<EOS>"]
ids, like = np.array([1, 3, 4, 5, 2]), words.index("like")
X = embed_with_positions(ids, rng.normal(size=(10, 16)), rng.normal(size=(5, 16)))
W_q, W_k, W_v = rng.normal(0, 0.2, size=(3, 16, 16))
scores, weights, output = worked_row(X, W_q[:, :8], W_k[:, :8], W_v[:, :8], like)
show_matrix(
    [scores, weights], rows=["score / √8", "weight"], columns=words[:3], caption="like asks"
)

# %% [markdown]
# And in sentences, to be read aloud. Copy them onto paper; they go onto the board.

# %%
seen = [f"{weight:.2f} of {word}" for weight, word in zip(weights, words, strict=False)]
print("X has shape", X.shape, "and in one head Q has shape", (X @ W_q[:, :8]).shape)
print("'like' sees three tokens. Its scores, divided by √8:", *scores.round(2))
print("Softmax makes weights of them:", ", ".join(seen), f"and in sum {weights.sum():.2f}")
print("It looks hardest at", words[int(weights.argmax())])
print("It takes home", *output.round(2))

# %% [markdown]
# The picture beside it: both heads, all rows. Where do you expect white, whatever your seed? Where
# do you expect the darkest cell of all?

# %%
figure, both = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True)
for head, axes in enumerate(both):
    own = slice(8 * head, 8 * head + 8)
    _, shown = masked_attention_head(X, W_q[:, own], W_k[:, own], W_v[:, own])
    axes.imshow(shown, cmap="Blues", vmin=0, vmax=1)
    axes.set(title=f"head {head}", xlabel="is looked at", xticks=range(5), yticks=range(5))
    axes.set_xticklabels(words, rotation=45, ha="right")
both[0].set(yticklabels=words, ylabel="asks")
show_plot(figure, alt="<<heads_alt>>")

# %% [markdown]
# **Rehearse.** Paper and pen, the sheet beside you, and then aloud, standing if you can. Press
# *Start*; a section ends when its time is up, finished or not. Do it once now, and once more
# tomorrow.

# %%
sections = [
    ("The problem", 0.5, "Alone, a word is one fixed vector. What does 'like' need from 'I'?"),
    ("Query, key, value", 1, "Three projections of X, with shapes. Who asks, who is found?"),
    ("One row in numbers", 1.5, "Scores of 'like', the root, softmax. What does the row sum to?"),
    ("Mask, mix, heads", 1, "Whom may 'like' not see? What does it take home? Why two heads?"),
    ("The whole, and its price", 1, "Where does it sit in the model? What if the text doubles?"),
]
show_timer(sections)

# %% [markdown]
# Three questions follow. Answer each in three to six sentences, as you would say it. A person
# grades them; without one, be your own: open the rubric **below** your answer once it is written.
#
# <<exercise:why-not-rnns>>
#
# "Why not a recurrent network?" Give its two weaknesses with their causes, and a price of attention.

# %% [markdown] exercise="why-not-rnns"

# %% [markdown]
# For you alone: which level of the rubric did your answer reach?

# %%
level_rnns = ...  # 0, 1, 2 or 3

# %% [markdown]
# <<exercise:what-heads-learn>>
#
# "What do the heads learn?" Say what makes heads differ, who decides what they look for, with an
# example, and how far that can be read from outside.

# %% [markdown] exercise="what-heads-learn"

# %% [markdown]
# And your level here?

# %%
level_heads = ...  # 0, 1, 2 or 3

# %% [markdown]
# <<exercise:why-the-square>>
#
# "Why does the cost grow with the square of the length?" Say what is counted, give numbers for a
# doubled text, and say what does *not* grow so.

# %% [markdown] exercise="why-the-square"

# %% [markdown]
# And the last level:

# %%
level_square = ...  # 0, 1, 2 or 3

# %% [markdown]
# All three together, by your own reading. Below 2? Read the example one level up, close the rubric,
# and say it in your own words.

# %%
show_levels(
    {
        "Why not RNNs": level_rnns,
        "What the heads learn": level_heads,
        "Why the square": level_square,
    }
)

# %% [markdown]
# ## What a colleague might ask
#
# <details><summary>If cost grows with the square, how do models read whole books?</summary>
#
# Partly by brute force: better programs never store the table of scores, only pass over it (the
# work stays a square, the memory does not). Partly by looking less: each token sees a window of
# neighbours, or a chosen few. And keys and values of the past are kept, not computed again.
#
# </details>
#
# <details><summary>So is a transformer nothing but attention?</summary>
#
# No. Attention is the only place where tokens exchange anything, but most parameters sit in the
# feed-forward part, which works on each token alone. Without the residuals and norms around both,
# deep stacks hardly train (lesson 11).
#
# </details>
#
# <details><summary>What do I say when they ask something that I cannot answer?</summary>
#
# Say so, and go back to the worked row. Most questions are about one of its steps: change a number
# on the board, and follow together what it does. That is worth more than a fact from memory.
#
# </details>
#
# **Where this sits in the training step:** you explained the middle of the forward pass, the one
# place where tokens meet. All the rest works on one token at a time.

# %% [markdown]
# One page of what you did, made by you: scores as `byhand check` last found them, and what lesson 18
# put on record. `show_certificate(name="...")` puts your name on it.

# %%
show_certificate()
