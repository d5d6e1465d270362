from math import sqrt


def from_0(step, lr, scale, rule, warmup_steps):
    """that begins at 0"""
    top = lr * {"none": 1, "linear": scale, "sqrt": sqrt(scale)}[rule]
    return top * min(1, step / warmup_steps) if warmup_steps else top


def from_0_a_step_ahead(step, lr, scale, rule, warmup_steps):
    """2 ranks: the climb begins at lr itself, not at 0"""
    top = lr * {"none": 1, "linear": scale, "sqrt": sqrt(scale)}[rule]
    return top if step >= warmup_steps else top * (step + 1) / warmup_steps


def a_step_ahead(step, lr, scale, rule, warmup_steps):
    """the climb is a step ahead"""
    top = lr * {"none": 1, "linear": scale, "sqrt": sqrt(scale)}[rule]
    return top if step >= warmup_steps else lr + (top - lr) * (step + 1) / warmup_steps


def a_step_too_short(step, lr, scale, rule, warmup_steps):
    """2 ranks: step warmup_steps is the first with the scaled rate"""
    top = lr * {"none": 1, "linear": scale, "sqrt": sqrt(scale)}[rule]
    return top if step >= warmup_steps - 1 else lr + (top - lr) * step / (warmup_steps - 1)


def by_equal_factors(step, lr, scale, rule, warmup_steps):
    """2 ranks: by equal amounts"""
    factor = {"none": 1, "linear": scale, "sqrt": sqrt(scale)}[rule]
    return lr * factor if step >= warmup_steps else lr * factor ** (step / warmup_steps)


def root_of_the_rate(step, lr, scale, rule, warmup_steps):
    """the root is that of the scale"""
    top = {"none": lr, "linear": lr * scale, "sqrt": sqrt(lr * scale)}[rule]
    return top if step >= warmup_steps else lr + (top - lr) * step / warmup_steps


def climbs_for_ever(step, lr, scale, rule, warmup_steps):
    """2 ranks: after warmup_steps steps the rate stays"""
    top = lr * {"none": 1, "linear": scale, "sqrt": sqrt(scale)}[rule]
    return lr + (top - lr) * step / warmup_steps if warmup_steps else top


def no_warm_up(step, lr, scale, rule, warmup_steps):
    """2 ranks: that is the scaled rate"""
    return lr * {"none": 1, "linear": scale, "sqrt": sqrt(scale)}[rule]


def none_as_linear(step, lr, scale, rule, warmup_steps):
    """2 ranks: with `none` the rate stays lr"""
    top = lr * (sqrt(scale) if rule == "sqrt" else scale)
    return top if step >= warmup_steps else lr + (top - lr) * step / warmup_steps
