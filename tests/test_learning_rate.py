"""The measured learning rates: the stored data is whole, is what the script gives, and is what the plot shows."""

import json
import re
import sys
from statistics import mean

import matplotlib.pyplot as plt
import pytest
from ranks import run_all, run_script

from ddp_lessons.workbench.rates import RESULTS, SERIES, draw_rates, read_rates
from ddp_lessons.workbench.scripts import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import learning_rate
from learning_rate import NETWORKS, Network, Training, all_trainings, train

SCRIPT = ROOT / "scripts" / "lesson5_same_answer.py"


@pytest.fixture(scope="module")
def measured():
    return json.loads(RESULTS.read_text())


def trained(*of) -> float:
    """Return what `train` returns in a process of its own, with one thread as the stored runs had."""
    return run_all([(train, *of)])[0]


@pytest.fixture
def drawn():
    draw_rates()
    yield plt.gcf()
    plt.close()


def test_the_stored_data_is_whole_and_says_where_it_comes_from(measured):
    assert measured["command"] == "python benchmarks/learning_rate.py"
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", measured["date"]) and measured["cores"] > 0
    assert measured["cpu"] and re.match(r"\d+\.\d+", measured["torch"])
    assert {name: Network(**network) for name, network in measured["networks"].items()} == NETWORKS
    assert [Training(*list(row.values())[:4]) for row in measured["results"]] == list(all_trainings(NETWORKS))
    for row in measured["results"]:
        assert len(row["accuracies"]) == 3 and all(0 <= accuracy <= 100 for accuracy in row["accuracies"])


def test_every_rule_is_measured_at_1_2_4_and_8_ranks():
    trainings, rates = list(all_trainings(NETWORKS)), read_rates()
    assert len(trainings) == len(set(trainings))
    for model in NETWORKS:
        for rule in ("none", 0), ("sqrt", 0), ("sqrt", 1), ("linear", 0), ("linear", 1):
            assert all(len(rates[(model, ranks, *rule)]) == 3 for ranks in (1, 2, 4, 8))


def test_a_stored_run_comes_out_the_same_now():
    """Within half a point: other machines round differently."""
    stored = read_rates()["linear", 8, "linear", 0]
    assert trained(Training("linear", 8, "linear", 0), 0) == pytest.approx(stored[0], abs=0.5)


def test_what_the_benchmarks_readme_says_is_in_the_data():
    rates = read_rates()
    means = {key: mean(accuracies) for key, accuracies in rates.items()}
    for model, network in NETWORKS.items():
        unscaled = [means[model, ranks, "none", 0] for ranks in network.ranks]
        assert unscaled == sorted(unscaled, reverse=True)
    for ranks in 2, 4, 8, 16, 32, 64:
        linear, alone = means["linear", ranks, "linear", 0], means["linear", 1, "linear", 0]
        assert abs(linear - alone) < 0.025
        assert all(a < b for a, b in zip(*(rates["linear", ranks, "linear", w] for w in (1, 0)), strict=True))
        assert means["linear", ranks, "none", 0] < means["linear", ranks, "sqrt", 0] < linear
    assert all(means["linear", ranks, "sqrt", 0] > means["linear", ranks, "linear", 0] for ranks in (256, 512))
    lost = [round(means["cnn", 1, "linear", 0] - means["cnn", ranks, "linear", 0], 1) for ranks in (2, 4, 8)]
    gained = [warm - cold for warm, cold in zip(*(rates["cnn", 8, "linear", w] for w in (1, 0)), strict=True)]
    assert lost == [0.1, 0.9, 2.8] and [round(each, 1) for each in gained[:2]] == [3.6, -8.1]
    assert max(rates["cnn", 8, "none", 0]) < min(min(rates[("cnn", 8, *rule)]) for rule in list(SERIES)[1:])


@pytest.mark.parametrize("scaling, warmup, seed", [("linear", 1, 1), ("sqrt", 0, 2), ("none", 0, 0)])
def test_one_process_gives_what_the_script_prints_on_two_ranks(tmp_path, scaling, warmup, seed):
    options = f"--scaling={scaling} --warmup-epochs={warmup} --seed={seed} --samples=2000 --data={ROOT / 'data'}"
    printed, _ = run_script(SCRIPT, *options.split(), folder=tmp_path, ranks=2)
    last = re.findall(r"epoch 5: .*accuracy ([\d.]+)%", printed)
    assert last == [f"{trained(Training('linear', 2, scaling, warmup), seed, 2000):.2f}"]


def test_the_command_writes_all_trainings_a_line_each(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_rate, "NETWORKS", {"linear": Network(256, 0.01, [1, 2])})  # small, but trained
    monkeypatch.setattr(sys, "argv", ["learning_rate.py", f"--out={tmp_path / 'seen.json'}"])
    learning_rate.main()
    text = (tmp_path / "seen.json").read_text()
    rows = json.loads(text)["results"]
    assert [Training(*list(row.values())[:4]) for row in rows] == list(all_trainings(["linear"]))
    assert len(rows) == 6 == text.count('\n  {"model"')
    assert rows[0]["accuracies"][1] == train(Training("linear", 1, "none", 0), 1)


@pytest.mark.parametrize("out", ["", "missing/seen.json"])
def test_a_file_that_cannot_be_written_is_refused_before_training(tmp_path, monkeypatch, capsys, out):
    monkeypatch.setattr(sys, "argv", ["learning_rate.py", f"--out={tmp_path / out}"])
    with pytest.raises(SystemExit):
        learning_rate.main()
    assert capsys.readouterr().err.endswith("error: --out is a file, in a folder that is there\n")


@pytest.mark.parametrize("options", [["--models=linear"], ["--models", "cnn", "cnn", "--out=seen.json"]])
def test_a_part_of_the_models_does_not_take_the_place_of_all(tmp_path, monkeypatch, capsys, options):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(learning_rate, "RESULTS", tmp_path / "seen.json")
    monkeypatch.setattr(learning_rate, "NETWORKS", {name: Network(64, 0.01, [1]) for name in NETWORKS})
    monkeypatch.setattr(sys, "argv", ["learning_rate.py", *options])
    with pytest.raises(SystemExit):
        learning_rate.main()
    told = "error: seen.json holds all models: for a part of them name another file with --out\n"
    assert capsys.readouterr().err.endswith(told) and not list(tmp_path.iterdir())


def test_a_model_named_twice_is_trained_once(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_rate, "NETWORKS", {name: Network(64, 0.01, [1]) for name in NETWORKS})
    monkeypatch.setattr(sys, "argv", ["learning_rate.py", "--models", *["linear"] * 2, f"--out={tmp_path / 'seen'}"])
    learning_rate.main()
    seen = json.loads((tmp_path / "seen").read_text())
    assert [row["model"] for row in seen["results"]] == list(seen["networks"]) == ["linear"]


def test_the_plot_shows_every_accuracy_measured(drawn):
    rates = read_rates()
    for panel, (model, network) in zip(drawn.axes, NETWORKS.items(), strict=False):
        lines = {line.get_label(): line for line in panel.lines}
        for rule, (name, *_) in SERIES.items():
            wanted = [rates[(model, ranks, *rule)] for ranks in network.ranks]
            assert list(lines[name].get_ydata() * 100) == pytest.approx(list(map(mean, wanted)))
            assert list(lines[name].get_xdata()) == pytest.approx(network.ranks, rel=0.15)
        assert {line.get_marker() for line in panel.lines if line.get_linestyle() != "None"} <= {"", "None"}
        points = [y * 100 for line in panel.lines if line.get_linestyle() == "None" for y in line.get_ydata()]
        every = [rates[(model, n, *rule)][seed] for rule in SERIES for seed in range(3) for n in network.ranks]
        assert points == pytest.approx(every)
        constant = lines["constant"].get_ydata()
        assert list(constant) == pytest.approx([mean(rates[model, 1, "none", 0]) / 100] * 2)


def test_the_published_numbers_are_named_as_theirs(drawn):
    *_, theirs = drawn.axes
    assert theirs.get_title() == "Goyal et al. 2017: ResNet-50, ImageNet"
    errors = {(x, round(100 - 100 * y, 2)) for line in theirs.lines for x, y in zip(*line.get_data(), strict=True)}
    table = {(1, 23.60), (32, 23.74), (64, 24.79), (128, 27.55), (256, 33.96), (32, 26.22), (32, 41.67)}
    assert errors == table
