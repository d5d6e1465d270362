"""All exercises, by the name of what the reader writes."""

from ddp_lessons.workbench.exercises import (
    accumulation,
    cases,
    confusion,
    ddp,
    fair_loss,
    mask,
    ranks,
    rate,
    rest,
    sampler,
    save_whole,
    stopping,
    strays,
)
from ddp_lessons.workbench.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = cases.EXERCISES | ranks.EXERCISES | sampler.EXERCISES | ddp.EXERCISES
EXERCISES |= rate.EXERCISES | fair_loss.EXERCISES | accumulation.EXERCISES | mask.EXERCISES | strays.EXERCISES
EXERCISES |= rest.EXERCISES | confusion.EXERCISES | save_whole.EXERCISES | stopping.EXERCISES
