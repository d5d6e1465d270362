"""Exercises: the answer is solved, a stub is not solved yet, each known mistake gets its own hint."""

import pytest

from ddp_lessons.workbench.checks import EXERCISES, check

HINTS = [(name, text) for name, exercise in EXERCISES.items() for text in exercise.hints]


@pytest.fixture
def verdict(capsys):
    """Check `function` as the attempt at an exercise; return what is printed."""

    def verdict(name, function):
        def attempt(*case):
            return function(*case)

        attempt.__name__ = name
        check(attempt)
        return capsys.readouterr().out

    return verdict


@pytest.mark.parametrize("name", EXERCISES)
def test_the_answer_is_solved(name, verdict):
    assert verdict(name, EXERCISES[name].answer) == "solved\n"


@pytest.mark.parametrize("name", EXERCISES)
@pytest.mark.parametrize("stub", [None, ...], ids=str)
def test_a_stub_is_not_solved_yet(name, stub, verdict):
    assert verdict(name, lambda *case: stub) == "not solved yet\n"


@pytest.mark.parametrize(("name", "text"), HINTS)
def test_a_known_mistake_gets_its_own_hint(name, text, verdict):
    said = verdict(name, EXERCISES[name].hints[text])
    assert said.startswith(f"not yet: {name}(") and said.endswith(f"\nhint: {text}\n")


@pytest.mark.parametrize("name", EXERCISES)
def test_another_mistake_is_told_with_the_right_answer(name, verdict):
    exercise = EXERCISES[name]
    case = ", ".join(map(str, exercise.cases[0]))
    right = exercise.answer(*exercise.cases[0])
    assert verdict(name, lambda *case: "wrong") == f"not yet: {name}({case}) gave wrong, right is {right}\n"


def test_the_exercises_answers():
    """Each against a value worked out on paper."""
    assert EXERCISES["average_loss"].answer([0.2, 1.0], [8, 2]) == pytest.approx(0.36)
    assert EXERCISES["place_of"].answer(13, 8) == (1, 5)
    assert EXERCISES["share_of"].answer(3, 4, 10) == [3, 7]
    assert EXERCISES["recipe"].answer(3, 10, 0.1, 100) == pytest.approx((30, 0.3, 4))
