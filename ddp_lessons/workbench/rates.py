"""What each rule for the learning rate makes of more ranks: `benchmarks/learning_rate.py`'s results, as a plot."""

import json
from collections.abc import Iterable
from statistics import mean

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

from ddp_lessons.workbench.pictures.picture import COLORS
from ddp_lessons.workbench.scripts import ROOT

RESULTS = ROOT / "benchmarks" / "learning_rate.json"
SERIES = {  # the rule and its epochs of warm-up: how it is called, its colour, its marker
    ("none", 0): ("no scaling", COLORS[3], "v"),
    ("sqrt", 0): ("square root", COLORS[2], "s"),
    ("sqrt", 1): ("square root, warm-up", COLORS[2], "s"),
    ("linear", 0): ("linear", COLORS[0], "o"),
    ("linear", 1): ("linear, warm-up", COLORS[0], "o"),
}
# Goyal et al. 2017, arXiv 1706.02677, Table 2a and Figure 3: top-1 error in percent, by the batch in units of 256
GOYAL = {
    ("linear", 1): {1: 23.60, 32: 23.74, 64: 24.79, 128: 27.55, 256: 33.96},
    ("sqrt", 0): {32: 26.22},
    ("none", 0): {32: 41.67},
}
TICKS = [10, 25, 50, 75, 85, 90, 95, 97]
TITLES = {"linear": "linear model, {:,} images of MNIST", "cnn": "CNN, {:,} images of MNIST"}

Rates = dict[tuple, list[float]]


def read_rates() -> Rates:
    """Return the accuracies measured, in percent, a seed each, by (model, ranks, rule, epochs of warm-up).

    What one rank gets stands under every rule: it has nothing to scale.
    """
    rates = {}
    for row in json.loads(RESULTS.read_text())["results"]:
        for rule in [(row["scaling"], row["warmup_epochs"])] if row["ranks"] > 1 else SERIES:
            rates[(row["model"], row["ranks"], *rule)] = row["accuracies"]
    return rates


def draw_rates() -> None:
    """Draw accuracy against ranks, a line for each rule: as measured here, and as published for ImageNet.

    Accuracies near 100 % are drawn further apart, on a logit scale: from 90 to 95 is as much as from 5 to 10.
    """
    networks = json.loads(RESULTS.read_text())["networks"]
    figure, panels = plt.subplots(1, len(networks) + 1, figsize=(13, 4.8), sharey=True, layout="constrained")
    for panel, (model, network) in zip(panels, networks.items(), strict=False):
        draw_ours(panel, {key[1:]: values for key, values in read_rates().items() if key[0] == model})
        frame(panel, TITLES[model].format(network["samples"]), "ranks, 32 images a step each", network["ranks"])
    draw_goyal(panels[-1])
    frame(panels[-1], "Goyal et al. 2017: ResNet-50, ImageNet", "batch, in units of 256 images", GOYAL["linear", 1])
    panels[0].set_ylabel("accuracy", fontsize=12)
    constant = Line2D([], [], color="black", linestyle=":", label="constant global batch")
    rules = [Line2D([], [], label=name, **looks(rule)) for rule, (name, *_) in SERIES.items()]
    figure.legend(handles=[constant, *rules], loc="outside lower center", ncols=6, fontsize=11)


def draw_ours(panel: plt.Axes, rates: Rates) -> None:
    """Draw a line through the means for each rule, with the three seeds as points and their spread as a stroke."""
    constant = mean(rates[1, "none", 0]) / 100  # 32 images a step, however many ranks share them
    panel.axhline(constant, color="black", linestyle=":", label="constant")
    for place, rule in enumerate(SERIES):
        seen = sorted((ranks, values) for (ranks, *its), values in rates.items() if tuple(its) == rule)
        aside = 0.1 * place - 0.2  # many lie on one another
        places = [ranks * 2**aside if ranks > 1 else 1 for ranks, _ in seen]
        shares = [[value / 100 for value in values] for _, values in seen]
        panel.plot(places, list(map(mean, shares)), label=SERIES[rule][0], **looks(rule) | {"marker": ""})
        panel.vlines(places, list(map(min, shares)), list(map(max, shares)), color=SERIES[rule][1])
        panel.plot(places, shares, **looks(rule) | {"linestyle": ""})


def draw_goyal(panel: plt.Axes) -> None:
    """Draw the published accuracies."""
    for rule, errors in GOYAL.items():
        panel.plot(list(errors), [1 - error / 100 for error in errors.values()], **looks(rule))


def looks(rule: tuple[str, int]) -> dict[str, object]:
    """Return how a rule is drawn: with warm-up, dashed and hollow."""
    _, color, marker = SERIES[rule]
    line, fill = ("--", "none") if rule[1] else ("-", "full")
    return {"color": color, "marker": marker, "linestyle": line, "fillstyle": fill, "markersize": 5}


def frame(panel: plt.Axes, title: str, below: str, places: Iterable[int]) -> None:
    """Give a panel its title, scales and ticks."""
    panel.set_title(title, fontsize=12)
    panel.set_xlabel(below, fontsize=12)
    panel.set_xscale("log", base=2)
    panel.set_xticks(list(places), list(places), fontsize=11)
    panel.set_yscale("logit")
    panel.set_yticks([tick / 100 for tick in TICKS], [f"{tick} %" for tick in TICKS], fontsize=11)
    panel.minorticks_off()
    panel.grid(alpha=0.3)
