# %% [markdown]
# Attention scores can be any numbers. To mix words by them we need **weights**: none below 0, and 1
# in sum. **Softmax** makes the one from the other. It sits in the heart of attention, and again at
# the very end, where the model bets on the next word.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, show_matrix, show_plot

# %% [markdown]
# Raise $e$ to each score, which makes it positive; then divide by the sum:
#
# $$w_i = \frac{e^{s_i}}{\sum_j e^{s_j}}$$
#
# <<table>>
#
# <<exercise:softmax-by-hand>>
#
# Now for the scores <<hand_scores>>, with $e^1 = <<e_1:.3f>>$ and $e^2 = <<e_2:.3f>>$. Do your
# weights sum to 1?

# %% exercise="softmax-by-hand"

# %%
check(softmax_by_hand=softmax_by_hand)

# %% [markdown]
# <<exercise:shift-invariance>>
#
# Predict. The scores <<shown_scores>> of the table become <<shifted_scores>>: 100 is added to each.
# What happens to the weights?

# %% exercise="shift-invariance"

# %%
check(shift_invariance=shift_invariance)

# %% [markdown]
# That is worth more than it seems, because powers of $e$ grow fast. What will the last one be?

# %%
with np.errstate(over="ignore", invalid="ignore"):
    powers = np.exp(np.array([1.0, 100.0, 1000.0]))
    print("powers of e:  ", powers)
    print("divided by sum:", powers / powers.sum())

# %% [markdown]
# Infinity over infinity is `nan`. The cure: subtract the **largest** score from all. No weight
# changes, the largest power is $e^0 = 1$, nothing overflows, and the sum is at least 1.
#
# With several rows, each needs its own largest score. Which of these two shapes lines up with (2,
# 3)?

# %%
scores = np.array([[1.0, 3.0, -1.0], [1000.0, 1002.0, 1001.0]])
print("scores:                 ", scores.shape)
print("largest:                ", scores.max(axis=-1).shape)
print("largest, axis kept:     ", scores.max(axis=-1, keepdims=True).shape)

# %% [markdown]
# <<exercise:softmax>>
#
# Write softmax for scores of any shape; `axis` says along which axis the weights sum to 1. Huge
# scores and scores of `-inf` must work. (Slices that are all `-inf`, in the docstring's last line,
# are not checked.)

# %% exercise="softmax"

# %%
check(softmax)

# %% [markdown]
# Look: three words score three words. Which sums do you expect, along rows and along columns?

# %%
scores = np.array([[2.0, 1.0, -1.0], [0.5, 0.5, 0.5], [1000.0, 999.0, -np.inf]])
weights = softmax(scores)
print("sum of each row:   ", weights.sum(axis=-1))
print("sum of each column:", weights.sum(axis=0))
show_matrix(weights, caption="Weights: each row sums to 1; a score of -inf gets weight 0")

# %% [markdown]
# <<exercise:what-scaling-does>>
#
# Adding to all scores did nothing. Predict once more: the scores <<shown_scores>> become
# <<tripled_scores>>, each **multiplied** by 3.

# %% exercise="what-scaling-does"

# %%
check(what_scaling_does=what_scaling_does)

# %% [markdown]
# So one number controls how decided softmax is. When a model writes text it is called
# **temperature** $\tau$: scores become $s / \tau$.
#
# <<exercise:softmax-with-temperature>>
#
# A low one sharpens: say why, from what you just predicted. Then write it; your own `softmax` does
# most of the work.

# %% exercise="softmax-with-temperature"

# %%
check(softmax_with_temperature)

# %% [markdown]
# "Sharp" and "flat" deserve a number. **Entropy** is the average surprise:
#
# $$H = -\sum_i w_i \ln w_i$$
#
# It is 0 when one weight is 1, and $\ln n$ when all $n$ are equal.
#
# <<exercise:entropy>>
#
# Mind the weights that are 0: $w \ln w$ goes to 0 with $w$, but NumPy does not know that.

# %% exercise="entropy"

# %%
check(entropy)

# %% [markdown]
# Look: the same four scores at three temperatures. Four equal weights would have entropy
# $\ln 4 = <<ln_4:.2f>>$. Which temperature comes close?

# %%
words, scores = ["cat", "mat", "sat", "the"], np.array([2.0, 1.0, 0.5, -1.0])
temperatures = [0.3, 1.0, 5.0]
weights = np.array([softmax_with_temperature(scores, number) for number in temperatures])
entropies = entropy(weights)
show_matrix(weights, rows=temperatures, columns=words, caption="Weights, one temperature a row")

# %% [markdown]
# The same as a picture. The legend tells each entropy.

# %%
figure, axes = plt.subplots(figsize=(6, 3.2))
for place, hatch in enumerate(["", "//", ".."]):
    label = f"temperature {temperatures[place]}: entropy {entropies[place]:.2f}"
    centre = np.arange(4) + 0.27 * (place - 1)
    axes.bar(centre, weights[place], 0.27, hatch=hatch, edgecolor="black", label=label)
axes.set(xticks=range(4), xticklabels=words, xlabel="word", ylabel="weight")
axes.legend()
show_plot(
    figure, alt="At temperature 0.3 one word has nearly all the weight; at 5 all four are close."
)

# %% [markdown]
# Low temperature: nearly a choice. High temperature: nearly an average.
#
# ## What a colleague might ask
#
# <details><summary>Why subtract the maximum, and not the mean?</summary>
#
# Both leave the weights as they are. But only the maximum makes sure that no exponent is above 0,
# so that nothing can overflow. Powers of very negative numbers become 0, and that is harmless: such
# weights lie far below the last digit of the others.
#
# </details>
#
# <details><summary>Why powers of e, and not simply the scores divided by their sum?</summary>
#
# Scores may be negative, or sum to 0. Powers are always positive, and a lead of one score over
# another becomes a ratio of weights, whatever the other scores are. The derivative is pleasant too
# (lesson 15).
#
# </details>
#
# <details><summary>Can softmax give a weight of exactly 0?</summary>
#
# In exact arithmetic only to a score of $-\infty$, and that is how a mask works (lesson 9). In
# floating point a score some 750 below the largest gets 0 as well.
#
# </details>
#
# **Where this sits in the training step:** softmax turns attention scores into weights, and logits
# into the probabilities that the loss is computed from.
