"""Every code of the doctor: told in the README, taught in a notebook, and shown by a script that has the fault."""

import re

import pytest
from examined import PATIENTS, expected
from stub_project import ROOT

from ddp_lessons.doctor.finding import GRADES
from ddp_lessons.doctor.judge import CODES, JUDGES

ROW = re.compile(r"^\| `(DDP\d{3})` \| (\w+) \| (.+) \|$", re.MULTILINE)
SHOWN = {code for script in PATIENTS.rglob("*.py") for code, _ in expected(script)}


def test_the_readme_lists_them_all():
    rows = ROW.findall((ROOT / "README.md").read_text())
    assert rows == [(code, meaning.grade, meaning.title) for code, meaning in sorted(CODES.items())]


def test_each_belongs_to_one_judge():
    assert len(CODES) == sum(len(judge.CODES) for judge in JUDGES)
    assert {meaning.grade for meaning in CODES.values()} == set(GRADES)


@pytest.mark.parametrize("code", CODES)
def test_each_is_taught_and_shown(code):
    assert (ROOT / "notebooks" / f"{CODES[code].lesson}.ipynb").exists()
    assert code in SHOWN or CODES[code].grade == "note"


@pytest.mark.parametrize("kind", sorted({code[:4] for code in CODES}))
def test_each_kind_has_three_faulty_scripts_and_three_sound_ones(kind):
    folders = {path.parent for path in PATIENTS.rglob("*.py") if any(code[:4] == kind for code, _ in expected(path))}
    scripts = [path for folder in folders for path in folder.glob("*.py")]
    faulty = [path for path in scripts if any(code[:4] == kind for code, _ in expected(path))]
    sound = [path for path in scripts if path.stem.startswith("sound") and not expected(path)]
    assert len(faulty) >= 3 and len(sound) >= 3
