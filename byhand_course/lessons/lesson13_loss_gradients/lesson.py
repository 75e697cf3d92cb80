# %% [markdown]
# The forward pass ends in one number, the loss. The **backward pass** asks of every number on the
# way: if it were a little larger, how much larger or smaller would the loss be? That rate is the
# number's **gradient**. With it, training knows which way to move each parameter.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

softmax, cross_entropy = mine("softmax"), mine("cross_entropy")

# %% [markdown]
# First, measure. A vocabulary of three tokens, two positions, their probabilities `p`. Move one
# logit of position 1 at a time, by a thousandth: how much does the loss move, per unit?

# %%
p = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
logits, targets = np.log(p), np.array([1, 2])
before, slopes = cross_entropy(logits, targets), []
for token in range(3):
    moved = logits.copy()
    moved[1, token] += 0.001
    slopes.append((cross_entropy(moved, targets) - before) / 0.001)
rows = ["p", "y: 1 at the target", "slope of the loss"]
show_matrix(np.array([p[1], np.eye(3)[2], slopes]), rows=rows, caption="Position 1")

# %% [markdown]
# Why? **Forward, this was** the surprise at the target $t$, of logits $s$:
#
# $$\ell = -s_t + \ln \sum_k e^{s_k}$$
#
# The first term moves at the target only. $\ln z$ has slope $1/z$, and in the sum $z$ only $e^{s_j}$
# moves, which is its own slope. The **chain rule** multiplies them. **So now:**
#
# $$\frac{\partial \ell}{\partial s_j} = -y_j + \frac{1}{\sum_k e^{s_k}}\, e^{s_j} = p_j - y_j$$

# %%
print("p - y:     ", p[1] - np.eye(3)[2])
print("measured:  ", np.round(slopes, 2))

# %% [markdown]
# Half of it? The loss is the **mean** of two surprises, so each position has half a say. Position 1
# in full, target <<shown_target>>:
#
# <<loss_table>>
#
# <<exercise:loss-gradient-by-hand>>
#
# Position 0 has $p = <<hand_p>>$ and target <<hand_target>>. Write the gradient for its three
# logits.

# %% exercise="loss-gradient-by-hand"

# %%
check(loss_gradient_by_hand=loss_gradient_by_hand)

# %% [markdown]
# <<exercise:cross-entropy-backward>>
#
# Now for any logits, in a batch or not. Start from your `softmax`, which survives huge logits.

# %% exercise="cross-entropy-backward"

# %%
check(cross_entropy_backward)

# %% [markdown]
# Look: an untrained model on our sentence. Which entry of each row is below 0, and what does each
# row sum to?

# %%
words = ["<BOS>", "I", "like", "transformers", "<EOS>"]
vocabulary = ["<PAD>", "<BOS>", "<EOS>", *words[1:4], "the", "cat", "sat", "mat"]
ids = np.array([vocabulary.index(word) for word in words])
logits = np.random.default_rng(13).normal(size=(4, 10))
dlogits = cross_entropy_backward(logits, ids[1:])
print("sum of each row:", np.abs(dlogits.sum(axis=-1)).round(12))
show_matrix(dlogits, rows=words[:-1], columns=vocabulary, caption="Gradient for the logits")

# %% [markdown]
# Training moves against the gradient: the target's logit up, all others down, the likeliest most.
#
# These logits came from a **linear layer**, `X @ W`, which hands the gradient on to `X` and `W`.
#
# <<exercise:weight-gradient-shape>>
#
# Predict: `X` is <<stream_shape>>, two sentences of five tokens, `W` is <<weight_shape>>. Which shape
# does the gradient for `W` have?

# %% exercise="weight-gradient-shape"

# %%
check(weight_gradient_shape=weight_gradient_shape)

# %% [markdown]
# **Forward, this was** $\text{out}_{tj} = \sum_i X_{ti} W_{ij} + b_j$. Weight $W_{01}$ carries
# feature 0 into output 1, of every token $t$. Two tokens have <<input_0:g>> and <<input_1:g>> as
# feature 0; let `dout`, the loss's gradient for `out`, be <<dout_0:g>> and <<dout_1:g>> at output 1:
#
# $$\frac{\partial \ell}{\partial W_{01}} = <<input_0:g>> \cdot <<dout_0:g>> + (<<input_1:g>>) \cdot
# <<dout_1:g>> = <<weight_gradient:g>>$$
#
# Measure it, with a loss that has this gradient:

# %%
X, W = np.array([[2.0, 1.0], [-1.0, 4.0]]), np.ones((2, 2))
dout = np.array([[1.0, 0.5], [-2.0, 3.0]])
moved = W.copy()
moved[0, 1] += 0.001
losses = [(dout * out).sum() for out in (X @ moved, X @ W)]
print("measured:", round((losses[0] - losses[1]) / 0.001, 6))

# %% [markdown]
# **So now** each input gets `dout` times what it was multiplied by, summed over all places it went:
#
# $$\text{dX}_{ti} = \sum_j \text{dout}_{tj} W_{ij} \qquad \text{dW}_{ij} = \sum_t X_{ti}\,
# \text{dout}_{tj} \qquad \text{db}_j = \sum_t \text{dout}_{tj}$$
#
# <<exercise:linear-backward>>
#
# Turn the sums into matrix products. In a batch, $t$ runs over all tokens of all sequences.

# %% exercise="linear-backward"

# %%
check(linear_backward)

# %% [markdown]
# Look: had the output layer a bias, this would be its gradient. Which tokens should become likelier
# everywhere?

# %%
rng = np.random.default_rng(13)
X, W = rng.normal(size=(4, 16)), rng.normal(size=(16, 10))
gradients = linear_backward(dlogits, X, W)
print("shapes of dX, dW, db:", *[gradient.shape for gradient in gradients])
show_matrix(gradients[2], columns=vocabulary, caption="Gradient for a bias of the output layer")

# %% [markdown]
# You have measured slopes twice; now build the tool. Moving an entry up *and* down beats moving it
# up alone, and all other entries stay where they are:
#
# $$\frac{\partial f}{\partial x_i} \approx \frac{f(\dots, x_i + h, \dots) - f(\dots, x_i - h,
# \dots)}{2h}$$
#
# <<exercise:numerical-gradient>>
#
# `x` may have any number of axes, may hold whole numbers, and belongs to the caller.

# %% exercise="numerical-gradient"

# %%
check(numerical_gradient)

# %% [markdown]
# How good is it? Here the truth is known: $e^x$ is its own slope.


# %%
def f(x):
    return np.exp(x).sum()


x = np.array([0.3, -1.2, 0.7])
error = np.abs(numerical_gradient(f, x, h=1e-5) - np.exp(x)).max()
print(f"off by {error:.0e} at h = 1e-5")

# %% [markdown]
# <<exercise:a-smaller-step>>
#
# Predict: with `h=1e-13`, how far will it be off?

# %% exercise="a-smaller-step"

# %%
check(a_smaller_step=a_smaller_step)

# %% [markdown]
# Look at all steps, and at the one-sided difference. Where is each of them best?

# %%
steps = 10.0 ** -np.arange(1, 16)
both = [np.abs(numerical_gradient(f, x, h) - np.exp(x)).max() for h in steps]
one = [np.abs((np.exp(x + h) - np.exp(x)) / h - np.exp(x)).max() for h in steps]
figure, axes = plt.subplots(figsize=(5.5, 3.2))
axes.loglog(steps, both, "o-", label="up and down")
axes.loglog(steps, one, "s--", label="up only")
axes.set(xlabel="step h", ylabel="largest error")
axes.legend()
show_plot(figure, alt="Two valleys: up and down is best near 1e-5, up only is far worse there.")

# %% [markdown]
# Right of its valley the bend of $f$ spoils the slope, left of it rounding. $10^{-5}$ suits numbers
# near 1.
#
# Now the tool judges your own `linear_backward`. What do you expect, if both are right?


# %%
def linear(X, W, b):
    return X @ W + b


rng = np.random.default_rng(5)
X, W, b, dout = (rng.normal(size=size) for size in [(3, 4), (4, 5), 5, (3, 5)])

# %%
measured = (
    numerical_gradient(lambda X: (dout * linear(X, W, b)).sum(), X),
    numerical_gradient(lambda W: (dout * linear(X, W, b)).sum(), W),
    numerical_gradient(lambda b: (dout * linear(X, W, b)).sum(), b),
)
yours = linear_backward(dout, X, W)
for name, ours, theirs in zip(("dX", "dW", "db"), yours, measured, strict=True):
    print(f"{name} {ours.shape}: worst difference {np.abs(ours - theirs).max():.0e}")

# %% [markdown]
# Two ways that share no code agree to ten digits. And the loss?

# %%
by_formula = cross_entropy_backward(logits, ids[1:])
by_measuring = numerical_gradient(lambda s: cross_entropy(s, ids[1:]), logits)
print(f"dlogits: worst difference {np.abs(by_formula - by_measuring).max():.0e}")

# %% [markdown]
# From here on, your checker goes with you.
#
# ## What a colleague might ask
#
# <details><summary>If gradients can be measured, why derive them?</summary>
#
# Measuring asks the whole model twice for each parameter. With 3,648 of them that is 7,296 forward
# passes a step; the backward pass gets all gradients for the price of about two. Measuring is for
# checking.
#
# </details>
#
# <details><summary>Where did the derivative of softmax go?</summary>
#
# It is in there. Softmax alone has a full matrix of derivatives (lesson 15), and $-\ln p$ alone has
# slope $-1/p$, which explodes near 0. Multiplied, nearly everything cancels, and $p - y$ is left: it
# never exceeds 1.
#
# </details>
#
# <details><summary>How close must the two gradients be?</summary>
#
# In float64 and with numbers near 1, about nine or ten digits. A forgotten factor or term shows in
# the first or second. A difference in the fifth or sixth: look for a one-sided step or an eps that
# stands elsewhere. In float32 hardly three digits survive, so check in float64.
#
# </details>
#
# **Where this sits in the training step:** it is the first thing the backward pass does. `dX` of the
# output layer goes on, through the last norm, to the blocks (lesson 14).
