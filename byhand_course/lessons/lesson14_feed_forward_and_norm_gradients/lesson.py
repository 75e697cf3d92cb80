# %% [markdown]
# The gradient arrives behind a block, as `dout`. You carry it back through the block's second half.
# Read the left side downwards, the right side upwards:
#
# | forward, this was | so now, going back gives |
# |---|---|
# | `normed = layer_norm(x)` | `dx` ↑ |
# | `wide = linear(normed)` | `dnormed` ↑ |
# | `hidden = gelu(wide)` | `dwide` ↑ |
# | `fed = linear(hidden)` | `dhidden` ↑ |
# | `out = x + fed` | `dfed`, and one more `dx` ↑ |
# | all that follows | `dout` ↑ |

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, mine, show_matrix, show_plot

gelu, feed_forward, layer_norm = mine("gelu"), mine("feed_forward"), mine("layer_norm")
linear_backward = mine("linear_backward")
numerical_gradient = mine("numerical_gradient")

# %% [markdown]
# For a function from a row to a row, all slopes together are its **Jacobian**: entry $[i, j]$ tells
# how output $i$ moves with input $j$. Your own checker measures it, one output at a time. Start with
# GELU of -1, 1 and 2:


# %%
def jacobian(f, row):
    outputs = range(len(f(row)))
    return np.array([numerical_gradient(lambda x, i=i: f(x)[i], row) for i in outputs])


# %%
def show_slopes(slopes, caption):
    rows, columns = [[f"{side} {i}" for i in range(3)] for side in ("output", "input")]
    return show_matrix(slopes, rows, columns, caption, decimals=3)


show_slopes(jacobian(gelu, np.array([-1.0, 1.0, 2.0])), "Jacobian of GELU at (-1, 1, 2)")

# %% [markdown]
# **Forward, this was** $g$, each number by itself: a diagonal Jacobian. **So now** each number gets
# its own `dout` times its own slope.
#
# $$\begin{pmatrix}g'(x_0)&0&0\\0&g'(x_1)&0\\0&0&g'(x_2)\end{pmatrix}$$
#
# To find $g'$ you need the slope of tanh, which is $1 - \tanh^2$. See it measured:

# %%
u = np.array([-1.0, 0.0, 0.7])
print("measured slopes of tanh:", numerical_gradient(lambda u: np.tanh(u).sum(), u).round(6))
print("1 - tanh squared:       ", (1 - np.tanh(u) ** 2).round(6))

# %% [markdown]
# $g(x) = x \cdot s$, with the share $s = \tfrac12 (1 + \tanh u)$ and
# $u = \sqrt{2/\pi}\,(x + 0.044715\,x^3)$. Both factors move: the product rule, then the chain rule.
#
# $$g' = s + x\, s' \qquad s' = \tfrac12\, (1 - \tanh^2 u)\; u'$$
#
# <<slope_table>>
#
# <<exercise:gelu-backward>>
#
# Work out $u'$ yourself, and check it with the table. Then write the whole.

# %% exercise="gelu-backward"

# %%
check(gelu_backward)

# %% [markdown]
# Look at the slope beside the curve; the dots are measured. Where does GELU rise more steeply than
# $x$ itself, and where does it fall?

# %%
x = np.linspace(-4, 4, 161)
dots = np.linspace(-4, 4, 17)
figure, axes = plt.subplots(figsize=(5.5, 3.2))
axes.plot(x, gelu(x), "--", label="GELU")
axes.plot(x, gelu_backward(np.ones_like(x), x), label="its slope")
axes.plot(dots, numerical_gradient(lambda d: gelu(d).sum(), dots), "o", label="measured")
axes.set(xlabel="x")
axes.grid()
axes.legend()
show_plot(figure, alt="The slope starts at 0, dips below it, peaks at 1.13, ends at 1.")

# %% [markdown]
# Next, the network around it. **Forward, this was** `linear`, `gelu`, `linear`. Output $i$ of a linear
# layer moves with input $j$ by $W_{ji}$, so its Jacobian is $W^\top$. For a row of 3, widened to 2:
#
# $$W_2^\top \begin{pmatrix}g'_0&0\\0&g'_1\end{pmatrix} W_1^\top$$
#
# Does that agree with what is measured?


# %%
def linear(X, W, b):
    return X @ W + b


# %%
rng = np.random.default_rng(15)
token, W_1, W_2 = rng.normal(size=3), rng.normal(size=(3, 2)), rng.normal(size=(2, 3))
narrow = [W_1, np.array([0.3, -0.2]), W_2, np.zeros(3)]
product = W_2.T @ jacobian(gelu, linear(token, *narrow[:2])) @ W_1.T
measured = jacobian(lambda x: feed_forward(x, *narrow), token)
print(f"worst difference: {np.abs(product - measured).max():.0e}")
show_slopes(product, "Jacobian of the network: three factors, multiplied")

# %% [markdown]
# **So now** go back stage by stage, the last one first, with the functions that you have. GELU's
# slope depends on where it stood, so run forward again for the arrays in between.
#
# <<exercise:feed-forward-backward>>
#
# Five gradients come out: one for `X`, four for the parameters.

# %% exercise="feed-forward-backward"

# %%
check(feed_forward_backward)

# %% [markdown]
# Does your checker agree? Here it moves each entry of `X`, then each of `W_1`.

# %%
X, dout = rng.normal(size=(2, 5, 3))
yours = feed_forward_backward(dout, X, *narrow)
measured = (
    numerical_gradient(lambda X: (dout * feed_forward(X, *narrow)).sum(), X),
    numerical_gradient(lambda W: (dout * feed_forward(X, W, *narrow[1:])).sum(), W_1),
)
for name, ours, theirs in zip(("dX", "dW_1"), yours[:2], measured, strict=True):
    print(f"{name:4}: worst difference {np.abs(ours - theirs).max():.0e}")

# %% [markdown]
# Now the norm. It answers to a token and to ten times that token alike (lesson 11).
#
# <<exercise:ten-times-the-token>>
#
# Predict: `x` becomes `10 * x`, and `dout` stays as it is. What becomes of `dx`?

# %% exercise="ten-times-the-token"

# %%
check(ten_times_the_token=ten_times_the_token)

# %% [markdown]
# Measure it:

# %%
row, dout = np.array([1.0, 3.0, 8.0]), np.array([1.0, -2.0, 0.5])
one, zero = np.ones(3), np.zeros(3)
for x in (row, 10 * row):
    print(x, numerical_gradient(lambda x: (dout * layer_norm(x, one, zero)).sum(), x).round(4))

# %% [markdown]
# A step of 1 counts for less in a long token. Now derive it, for a row of 3.
#
# **Forward, this was** $\hat{x}_i = (x_i - m) / \sigma$, then $\gamma$ and $\beta$. Move $x_j$ alone,
# by a little. Three things happen. First, $\hat{x}_j$ itself moves, $1/\sigma$ times as far:

# %%
m, sigma = row.mean(), row.std()
xhat = (row - m) / sigma
first = np.eye(3) / sigma
print("x-hat:", xhat.round(3), " sigma:", sigma.round(3))
show_slopes(first, "First: the feature itself")

# %% [markdown]
# Second, the mean moves too, a third as far, and is taken from **all** three:

# %%
second = -np.ones((3, 3)) / (3 * sigma)
show_slopes(second, "Second: the mean")

# %% [markdown]
# Third, the spread. The variance is the mean of squared deviations; its slope is $2 (x_j - m) / 3$.
# (The moving mean adds nothing to it, as deviations sum to 0.) $\sigma$ is the variance's root, with
# slope $1 / 2\sigma$:
#
# $$\frac{\partial \sigma}{\partial x_j} = \frac{2\,(x_j - m)}{3} \cdot \frac{1}{2 \sigma} =
# \frac{\hat{x}_j}{3}$$

# %%
print("measured: ", numerical_gradient(lambda x: x.std(), row).round(4))
print("x-hat / 3:", (xhat / 3).round(4))

# %% [markdown]
# $1/\sigma$ has slope $-1/\sigma^2$, so $\hat{x}_i = (x_i - m)/\sigma$ moves with $\sigma$ by
# $-(x_i - m)/\sigma^2 = -\hat{x}_i/\sigma$. Times $\hat{x}_j / 3$, for all $i$ and $j$:

# %%
third = -np.outer(xhat, xhat) / (3 * sigma)
show_slopes(third, "Third: the spread")

# %% [markdown]
# All three together are the Jacobian of the norm:
#
# $$\frac{1}{\sigma} \left[ \begin{pmatrix}1&0&0\\0&1&0\\0&0&1\end{pmatrix} -
# \frac{1}{3}\begin{pmatrix}1&1&1\\1&1&1\\1&1&1\end{pmatrix} - \frac{1}{3}
# \begin{pmatrix}\hat{x}_0\hat{x}_0&\hat{x}_0\hat{x}_1&\hat{x}_0\hat{x}_2\\
# \hat{x}_1\hat{x}_0&\hat{x}_1\hat{x}_1&\hat{x}_1\hat{x}_2\\
# \hat{x}_2\hat{x}_0&\hat{x}_2\hat{x}_1&\hat{x}_2\hat{x}_2\end{pmatrix} \right]$$
#
# Before you run the cell: what will each row sum to?

# %%
whole = first + second + third
measured = jacobian(lambda x: layer_norm(x, one, zero), row)
print("sum of each row:", np.abs(whole.sum(axis=1)).round(12))
print(f"worst difference from the measured one: {np.abs(whole - measured).max():.0e}")
show_slopes(whole, "First + second + third")

# %% [markdown]
# (The difference left is `eps`.) **So now**, with $d\hat{x} = \text{dout} \cdot \gamma$, input $j$
# gets the sum over all outputs of $d\hat{x}_i$ times entry $[i, j]$. The identity hands on
# $d\hat{x}_j$; the ones, the mean of $d\hat{x}$; the products, $\hat{x}_j$ times the mean of
# $d\hat{x}\,\hat{x}$:
#
# $$dx = \frac{1}{\sigma}\big[d\hat{x} - \text{mean}(d\hat{x}) - \hat{x} \cdot
# \text{mean}(d\hat{x}\,\hat{x})\big]$$

# %%
terms = np.array([dout @ first, dout @ second, dout @ third, dout @ whole])
rows = ["first", "second", "third", "together: dx"]
show_matrix(terms, rows=rows, caption="What each term gives back, for gamma = 1", decimals=3)

# %% [markdown]
# By hand, for the token <<hand_x>>, mean <<hand_mean:g>>, $\gamma = 1$, dout <<shown_dout>>:
#
# <<norm_table>>
#
# <<exercise:layer-norm-backward-by-hand>>
#
# Same token, but $\gamma = <<hand_gamma>>$ and dout $= <<hand_dout>>$. What is $dx$?

# %% exercise="layer-norm-backward-by-hand"

# %%
check(layer_norm_backward_by_hand=layer_norm_backward_by_hand)

# %% [markdown]
# $\gamma$ multiplied $\hat{x}$, $\beta$ was added, for all tokens alike: so, as in a linear layer,
# their gradients are $\sum \text{dout} \cdot \hat{x}$ and $\sum \text{dout}$ over all tokens.
#
# <<exercise:layer-norm-backward>>
#
# All three gradients, for a batch too, with `eps` where the forward function has it.

# %% exercise="layer-norm-backward"

# %%
check(layer_norm_backward)

# %% [markdown]
# Look: five random tokens. What does each row of `dx` sum to, and what does your checker say?

# %%
rng = np.random.default_rng(4)
x, dout = rng.normal(1, 2, size=(2, 5, 4))
gamma, beta = rng.normal(1, 0.5, size=(2, 4))
dx = layer_norm_backward(dout, x, gamma)[0]
measured = numerical_gradient(lambda x: (dout * layer_norm(x, gamma, beta)).sum(), x)
print("sum of each row:", np.abs(dx.sum(axis=-1)).round(12))
print(f"worst difference from the measured one: {np.abs(dx - measured).max():.0e}")
show_matrix(dx, rows=["<BOS>", "I", "like", "transformers", "<EOS>"], caption="dx")

# %% [markdown]
# Last, the sum. **Forward, this was** `out = x + f(x)`: `x` went two ways. The Jacobian of a row
# of 3 is the identity plus that of `f`:


# %%
def f(x):
    return np.array([x[0] * x[1], x[2] ** 2, 0.0])


point = np.array([1.0, 2.0, 3.0])
show_slopes(jacobian(lambda x: x + f(x), point), "Identity plus the Jacobian of f")

# %% [markdown]
# **So now** two gradients come back to `x`: `dout` itself, and what `f`'s own backward function made
# of it, `dbranch`.
#
# <<exercise:residual-backward>>
#
# Before you write it: what should `x` get back if `f` does nothing?

# %% exercise="residual-backward"

# %%
check(residual_backward)

# %% [markdown]
# Everything together: half a block forward, and back with your functions. Compare with the picture
# at the top.

# %%
fed_by = [rng.normal(0, 0.5, size=size) for size in [(4, 7), 7, (7, 4), 4]]


def half_block(x):
    return x + feed_forward(layer_norm(x, gamma, beta), *fed_by)


# %%
normed = layer_norm(x, gamma, beta)
dfed = dout  # a sum hands on what it gets
dnormed = feed_forward_backward(dfed, normed, *fed_by)[0]
dbranch = layer_norm_backward(dnormed, x, gamma)[0]
dx = residual_backward(dout, dbranch)
measured = numerical_gradient(lambda x: (dout * half_block(x)).sum(), x)
print(f"half a block: worst difference {np.abs(dx - measured).max():.0e}")

# %% [markdown]
# And what is the skip good for on the way back? Twelve feed-forward networks in a row, without
# norms, with the skip (1) or without (0). First forward, keeping what each network is given:

# %%
rng = np.random.default_rng(14)
sizes = [(16, 64), (64, 16)]
drawn = [[rng.normal(0, n[0] ** -0.5, size=n) for n in sizes] for _ in range(12)]
networks = [(W_1, np.zeros(64), W_2, np.zeros(16)) for W_1, W_2 in drawn]
start, end = rng.normal(size=(2, 5, 16))  # the stream at the start, the gradient at the end
given = {0: [start], 1: [start]}
for skip, streams in given.items():
    for network in networks:
        streams.append(skip * streams[-1] + feed_forward(streams[-1], *network))

# %% [markdown]
# Then back. How long is the gradient that arrives at each network?

# %%
lengths = {0: [], 1: []}
for skip, streams in given.items():
    gradient = end
    for stream, network in zip(streams[-2::-1], networks[::-1], strict=True):
        back = feed_forward_backward(gradient, stream, *network)[0]
        gradient = residual_backward(skip * gradient, back)
        lengths[skip].append(np.linalg.norm(gradient, axis=-1).mean())

# %%
figure, axes = plt.subplots(figsize=(5.5, 3.2))
axes.semilogy(range(1, 13), lengths[1], "o-", label="with the skip")
axes.semilogy(range(1, 13), lengths[0], "s--", label="without")
axes.set(xlabel="networks gone back through", ylabel="mean length of the gradient")
axes.legend()
show_plot(figure, alt="Without the skip it shrinks a thousandfold; with it, it grows tenfold.")

# %% [markdown]
# Without it, hardly anything reaches the first network, and what gets no gradient does not learn.
#
# ## What a colleague might ask
#
# <details><summary>Why does nobody build the Jacobian?</summary>
#
# A token of 16 features has one of 256 entries, a token of 4,096 features one of 16 million, and every
# token has its own. The compact form needs two means. The matrix is for deriving and for checking.
#
# </details>
#
# <details><summary>Must I keep the forward pass's arrays, or may I compute them again?</summary>
#
# Either is right. Keeping them costs memory, computing them again costs time. Large models often
# keep only the block's inputs and compute the rest again: that is called gradient checkpointing.
#
# </details>
#
# <details><summary>Why does a token's dx sum to 0?</summary>
#
# Adding one number to all features of a token leaves the norm's answer as it is. So the loss cannot
# move in that direction, and the gradient has no part in it. Likewise it has (but for eps) none along
# the token's own deviations, as making them longer changes nothing either.
#
# </details>
#
# **Where this sits in the training step:** in each block, on the way back, before attention's turn
# (lesson 15), which meets the same norm and the same sum once more.
