# %% [markdown]
# The backward pass told every parameter which way is up. One question is left: **how far** should
# each of them step down? AdamW, the optimiser of most transformers, gives each parameter a step of
# its own.

# %%
import matplotlib.pyplot as plt
import numpy as np

from byhand import check, show_matrix, show_plot

# %% [markdown]
# The simplest answer is gradient descent: $\theta - \text{lr} \cdot g$, with one learning rate for
# all. But gradients come in all sizes. In our untrained model:
#
# <<sizes>>
#
# A rate that suits `W_q` is far too bold for `W_out`. So **divide each gradient by its own usual
# size**.

# %% [markdown]
# "Usual" calls for a memory. Adam keeps two running means for every single parameter, both starting
# at 0: of the gradient, and of its square.
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2$$
#
# Usual values are $\beta_1 = 0.9$ and $\beta_2 = 0.999$. Here every gradient is 1. What should its
# mean be?

# %%
m, rows = 0.0, []
for t in range(1, 7):
    m = 0.9 * m + 0.1 * 1.0
    rows.append([m, 1 - 0.9**t, m / (1 - 0.9**t)])
names, caption = ["m", "1 − 0.9ᵗ", "corrected"], "Step t: a mean that begins at 0"
show_matrix(np.array(rows), range(1, 7), names, caption=caption, decimals=3)

# %% [markdown]
# The start at 0 pulls $m$ down, exactly by the factor $1 - \beta_1^t$. So divide by it; $v$ needs
# the same with its own $\beta_2$. The number $t$ of the step is counted from 1:
#
# $$\hat m = \frac{m}{1 - \beta_1^t} \qquad \hat v = \frac{v}{1 - \beta_2^t}$$

# %% [markdown]
# Then the step. The W in AdamW is **weight decay**: apart from the gradient, each parameter loses
# the share $\text{lr} \cdot \lambda$ of itself, so that none grows without need.
#
# $$\theta \leftarrow \theta\,(1 - \text{lr} \cdot \lambda) -
# \text{lr}\,\frac{\hat m}{\sqrt{\hat v} + \epsilon}$$
#
# $\lambda$ is `weight_decay`; $\epsilon = 10^{-8}$ only prevents dividing by 0.

# %% [markdown]
# A first step with numbers: $\theta = 3$, $g = -0.5$, lr 0.1, $\lambda = 0.5$ ($\epsilon$ is too
# small to be seen).
#
# <<step>>
#
# Uncorrected, $\sqrt{v}$ would be only a third of the size of $m$. Corrected, both have the size of
# the gradient.

# %% [markdown]
# <<exercise:two-adamw-steps>>
#
# Now two steps, for $\theta = 1$. The gradients are <<hand_gradients>>; lr 0.1 and $\lambda = 0.5$
# again. For step 2, $1 - 0.9^2 = <<power_1:.2f>>$ and $1 - 0.999^2 = <<power_2:.6f>>$. Where is
# $\theta$ after each step? A calculator is allowed.

# %% exercise="two-adamw-steps"

# %%
check(two_adamw_steps=two_adamw_steps)

# %% [markdown]
# <<exercise:first-step-size>>
#
# Predict the very first step, with lr <<first_lr>> and no decay. One parameter has the gradient
# <<large>>, another <<small>>. How far does each move?

# %% exercise="first-step-size"

# %%
check(first_step_size=first_step_size)

# %% [markdown]
# <<exercise:adamw-update>>
#
# Write the whole update. It returns the new parameter, and `m` and `v` for the next step. The check
# takes several steps in a row, so in its evidence the first index counts steps, from 0. All
# arguments stay as they are: make new arrays.

# %% exercise="adamw-update"

# %%
check(adamw_update)

# %% [markdown]
# Look: first steps for gradients of very different size. How will the column of AdamW differ from
# that of plain descent?

# %%
g = np.array([1000.0, 1.0, 1e-3, 1e-8, 0.0])
zero = np.zeros(5)
moved, _, _ = adamw_update(zero, g, zero, zero, t=1, lr=0.01)
table = np.column_stack([-0.01 * g, moved])
rows = ["1000", "1", "0.001", "0.00000001", "0"]
show_matrix(table, rows, ["descent", "AdamW"], caption="First step, by gradient", decimals=4)

# %% [markdown]
# $g / \sqrt{g^2}$ is only the **sign** of $g$. So at first, every parameter moves by lr. Only where
# the gradient is as small as $\epsilon$ does the step shrink, and 0 stays 0.
#
# Later steps depend on whether the gradients agree. Three parameters; which will come furthest?

# %%
t = np.arange(1, 61)
streams = {"always 1": np.ones(60), "1 and −1 in turn": (-1.0) ** (t + 1)}
streams["1 for 20 steps, then 0"] = np.where(t <= 20, 1.0, 0.0)
theta = m = v = np.zeros(3)
path = [theta]
for step, g in zip(t, np.array(list(streams.values())).T, strict=True):
    theta, m, v = adamw_update(theta, g, m, v, int(step), lr=0.01)
    path.append(theta)

# %%
figure, axes = plt.subplots(figsize=(6.5, 3.2))
for line, style, name in zip(np.array(path).T, ["-", ":", "--"], streams, strict=True):
    axes.plot(line, style, linewidth=2, label=name)
axes.set(xlabel="steps taken", ylabel="parameter")
axes.legend(title="gradient")
words = "A steady gradient moves the parameter on; alternating ones hardly; after 0s it coasts."
show_plot(figure, alt=words)

# %% [markdown]
# Gradients that agree carry on; gradients that contradict each other cancel in $m$ but not in $v$,
# and hardly move. After the gradient has become 0, the memory of $m$ rolls on for some ten steps.
#
# Now the W. The older way to decay is **L2**: add $\lambda\theta$ to the gradient, and let Adam do
# the rest.

# %% [markdown]
# <<exercise:decay-with-l2>>
#
# Predict. Two weights start at 1. The gradients of one are about 10 in size, those of the other
# about 0.01; both average out to 0. Adam runs with L2. How do they shrink?

# %% exercise="decay-with-l2"

# %%
check(decay_with_l2=decay_with_l2)

# %% [markdown]
# Let us see: 200 weights of each kind, 300 steps, both ways. With `weight_decay=0` your function is
# plain Adam.


# %%
def shrink(l2, decay, lr=0.01):
    rng, sizes = np.random.default_rng(17), np.array([[10.0], [0.01]])
    theta, m, v = np.ones((2, 200)), np.zeros((2, 200)), np.zeros((2, 200))
    means = [theta.mean(axis=1)]
    for t in range(1, 301):
        g = sizes * rng.normal(size=(2, 200)) + l2 * theta
        theta, m, v = adamw_update(theta, g, m, v, t, lr=lr, weight_decay=decay)
        means.append(theta.mean(axis=1))
    return np.array(means)


# %%
both = {"AdamW": shrink(l2=0, decay=0.5), "Adam with L2": shrink(l2=0.5, decay=0)}
figure, pair = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
for axes, (title, means) in zip(pair, both.items(), strict=True):
    axes.plot(means[:, 0], "-", linewidth=2, label="gradients about 10")
    axes.plot(means[:, 1], "--", linewidth=2, label="gradients about 0.01")
    axes.set(title=title, xlabel="steps", ylabel="mean weight")
pair[1].legend()
show_plot(figure, alt="<<l2_alt>>")

# %% [markdown]
# In AdamW both kinds lose the same share, and follow $(1 - \text{lr} \cdot \lambda)^t$: after 300
# steps about <<kept:.2f>>. With L2 the decay is divided by $\sqrt{\hat v}$ like any gradient: where
# gradients are large it nearly vanishes, and where they are small it takes over.

# %% [markdown]
# <<exercise:optimiser-memory>>
#
# All this needs a memory. The course's model has <<count>> parameters. How many numbers must AdamW
# remember from one step to the next, not counting the parameters themselves and $t$?

# %% exercise="optimiser-memory"

# %%
check(optimiser_memory=optimiser_memory)

# %% [markdown]
# ## What a colleague might ask
#
# <details><summary>If every step has about the size lr, how can training ever settle?</summary>
#
# Near a minimum the gradients of successive steps point now here, now there. They cancel in $m$,
# while $v$ still knows their size: the quotient becomes small. In practice lr is also lowered
# towards the end, and raised slowly at the beginning, while $v$ knows little yet.
#
# </details>
#
# <details><summary>Why does v forget more slowly than m?</summary>
#
# They have different tasks. $m$ gives the direction, which should follow the newest gradients: with
# 0.9 it looks back about ten steps. $v$ gives a size, which should be steady: with 0.999 it looks
# back about a thousand. A size that jumped with every single gradient would make the steps jump, too.
#
# </details>
#
# <details><summary>With plain gradient descent, is L2 the same as weight decay?</summary>
#
# Yes. There the gradient is only multiplied by lr, so $\lambda\theta$ added to it takes the share
# $\text{lr} \cdot \lambda$ off the weight: the same line. They part only when something divides the
# gradient, as Adam does. That is the observation of Loshchilov and Hutter, who called it
# "decoupled".
#
# </details>
#
# **Where this sits in the training step:** at its very end, once for every parameter, after the
# backward pass has found all gradients. Then the next step begins with new parameters.
