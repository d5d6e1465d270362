"""What start.py says and does when an installation goes wrong, each time for real: real pip, disks, signals."""

import fcntl
import os
import shutil
import signal
import subprocess
import time

import psutil
import pytest
from slow import slow
from small_disk import small_disk
from stub_project import TEST, Project, breaks_off, last_line

NO_NETWORK = {"PIP_RETRIES": "1", "PIP_NO_INDEX": "0", "PIP_FIND_LINKS": ""}
HEAVY = 2500  # files of the wheel: pip is busy long enough to be met


@pytest.fixture(scope="module")
def two_at_once(tmp_path_factory):
    """A fresh project in which two start.py were begun, and what each printed."""
    project = Project(tmp_path_factory.mktemp("first")).write()
    with project.start("test") as first:
        assert "Making .venv.\n" in first.stdout  # reads up to there
        second = project.run("test", "-k", "x")
        first = first.wait(), first.stdout.read(), first.stderr.read()
    return project, first, second


@pytest.fixture(scope="module")
def installed(two_at_once):
    return two_at_once[0]


@pytest.fixture
def project(installed, tmp_path):
    """A copy of it, which lies in another place: for start.py it was moved."""
    shutil.copytree(installed.folder, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project")


@pytest.fixture
def fresh(tmp_path):
    return Project(tmp_path).write()


# an installation, as it should be


def test_of_two_at_once_one_installs_and_the_other_waits(two_at_once):
    _, (code, out, err), second = two_at_once
    assert (code, err) == (0, "") and out.endswith(f"{TEST}\n")
    assert second == (0, f"Another start.py is installing here: waiting for it.\n{[*TEST, '-k', 'x']}\n", "")


def test_what_is_installed_is_not_installed_again_until_pyproject_changes(installed):
    assert installed.run() == (0, f"{TEST}\n", "")
    pyproject = installed.folder / "pyproject.toml"
    pyproject.write_text(pyproject.read_text() + "# changed\n")
    code, out, _ = installed.run()
    assert code == 0 and "Installing the project" in out and "Making .venv" not in out
    assert installed.run() == (0, f"{TEST}\n", "")


# what is missing


@pytest.mark.parametrize("module", ["venv", slow("ensurepip")])
def test_a_python_without_venv_is_told_what_to_install(fresh, module):
    lacks = fresh.folder / "lacks"
    lacks.mkdir()
    (lacks / f"{module}.py").write_text(f"raise ModuleNotFoundError('No module named {module}')\n")
    code, _, err = fresh.run(PYTHONPATH=str(lacks))
    assert code == 1 and "apt install python3-venv" in last_line(err)
    assert "start.py" not in err, "a traceback of ours"


def test_without_a_network_it_says_so_and_goes_on_later(project):
    shutil.rmtree(project.packages() / "tiny-1.0.dist-info")
    with breaks_off(project.wheels) as address:
        no_index = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
        for way in (no_index, {"https_proxy": "http://127.0.0.1:9"}, {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": address}):
            code, _, err = project.run(**{**NO_NETWORK, **way})
            assert code == 1 and last_line(err).startswith("The network is missing, or it broke off: once it is back")
    assert project.run()[0] == 0
    assert (project.packages() / "tiny-1.0.dist-info" / "RECORD").exists()


def test_a_package_that_does_not_exist_is_not_taken_for_a_missing_network(project):
    (project.wheels / "tiny-1.0-py3-none-any.whl").unlink()
    shutil.rmtree(project.packages() / "tiny-1.0.dist-info")
    code, _, err = project.run()
    assert code == 1 and last_line(err).startswith("There is no version of the package named above for this Python")


# no room


def test_a_disk_too_small_is_told_before_anything_is_downloaded(fresh, tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk, "64m") as inside:
        subprocess.run([*inside, "cp", "-r", *fresh.folder.glob("[!d]*"), disk], check=True)
        code, out, err = Project(disk).run("test", inside=inside)
        assert (code, out) == (1, "")
        assert err.startswith("The disk is too full: installing takes about") and err.count("\n") == 1
        assert not subprocess.run([*inside, "ls", disk / ".venv"], check=False, capture_output=True).stdout


def test_a_disk_that_is_full_all_the_same_is_told_apart_from_other_failures(project, tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk, "20g,nr_inodes=300") as inside:  # room enough, it seems
        names = ["start.py", "starting", "pyproject.toml", "wheels.py", "dist"]
        subprocess.run([*inside, "cp", "-r", *(project.folder / name for name in names), disk], check=True)
        code, _, err = Project(disk).run("test", inside=inside)
    assert code == 1 and last_line(err).startswith(f"The disk, or your share of it, is full: make room in {disk}")


# broken off


def kill_pip(process):
    psutil.Process(process.pid).children()[0].kill()


def press_ctrl_c(process):
    process.send_signal(signal.SIGINT)


@pytest.mark.parametrize(
    "stop",
    [press_ctrl_c, *(slow(stop) for stop in (subprocess.Popen.kill, kill_pip))],
)
def test_an_installation_broken_off_is_made_whole(installed, tmp_path, stop):
    project = Project(tmp_path / "project").write(files=HEAVY)
    shutil.copytree(installed.venv, project.venv, symlinks=True)
    info = project.packages() / "tiny-1.0.dist-info"
    shutil.rmtree(info)
    with project.start("test") as process:
        while not (info / "METADATA").exists() and process.poll() is None:
            time.sleep(0.002)
        stop(process)
        err = process.communicate(timeout=120)[1]
    assert project.nothing_runs() and not (info / "RECORD").exists()
    assert (project.venv / "tmp").exists() == (stop == subprocess.Popen.kill)
    assert err.startswith("The installation was killed, perhaps") if stop == kill_pip else not err
    code, out, err = project.run()
    assert (code, err) == (0, "") and "tiny-1.0 is not whole in .venv" in out
    assert not (project.venv / "tmp").exists()
    assert len(list((project.packages() / "tiny").glob("file*.txt"))) == HEAVY


@pytest.mark.parametrize("number", [signal.SIGINT, slow(signal.SIGTERM)])
def test_it_can_be_stopped_while_it_waits(fresh, number):
    with (fresh.folder / "pyproject.toml").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with fresh.start("test") as process:
            assert process.stdout.readline().startswith("Another start.py")
            process.send_signal(number)
            assert process.communicate(timeout=120) == ("", "")
    assert process.returncode == -number


def test_packages_that_a_power_cut_left_damaged_are_installed_again(project):
    (project.packages() / "tiny" / "file0.txt").unlink()
    (project.packages() / "tiny" / "file1.txt").write_text("")
    (project.packages() / "pip" / "__main__.py").write_text("")
    code, out, _ = project.run()
    assert code == 0 and "tiny-1.0 is not whole" in out and "pip-" in out
    assert (project.packages() / "tiny" / "file0.txt").read_text() == "text"
    assert (project.packages() / "tiny" / "file1.txt").read_text() == "text"


# moved, or lost


def test_a_folder_that_was_moved_keeps_its_commands(project):
    moved = Project(project.folder.with_name("a place with spaces"))
    (project.venv / "mine").touch()
    project.folder.rename(moved.folder)
    code, out, err = moved.run()
    assert (code, err) == (0, "") and ".venv was moved" in out
    assert (moved.venv / "mine").exists()
    active = ["bash", "-c", 'source .venv/bin/activate; pip --version; command -v pip; python -c "import tiny, wheels"']
    shown = subprocess.run(active, cwd=moved.folder, env=moved.environment(), stdout=-1, text=True, check=True).stdout
    assert shown.count(str(moved.venv)) == 2
    assert moved.run() == (0, f"{TEST}\n", "")


def test_a_python_that_is_gone_is_replaced(project):
    python = project.venv / "bin" / "python"
    python.unlink()
    python.symlink_to(project.folder / "gone")
    code, out, err = project.run()
    assert (code, err) == (0, "")
    assert "Making .venv anew: the Python in it is gone, too old, or does not run.\n" in out
    assert os.access(python, os.X_OK)
