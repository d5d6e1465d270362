"""The learning rate for a larger batch."""

from torch import optim


def scale_lr(optimizer, scale: float, rule: str, warmup_steps: int) -> None:
    """Raise the optimizer's rate, meant for one batch size, to that for `scale` times as many samples a step.

    The rule: `none`, `linear` (times scale) or `sqrt` (times its square root). In the first `warmup_steps`
    steps the rate climbs from what it was, by equal amounts, as in Goyal et al. 2017 (arXiv 1706.02677). A rate that
    falls, since `scale` is below 1, does so at once.
    """
    factor = {"none": 1, "linear": scale, "sqrt": scale**0.5}[rule]
    for group in optimizer.param_groups:
        group["lr"] *= factor
    if warmup_steps and factor > 1:
        climb = optim.lr_scheduler.LinearLR(optimizer, start_factor=1 / factor, total_iters=warmup_steps)
        optimizer.register_step_post_hook(lambda *_: climb.step())
