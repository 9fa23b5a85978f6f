"""Runs of pytest with `--forks`, on small suites: what its users see is what pytest shows in one process."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.forks import MOST_GROUPS
from tests.places import ROOT

Run = Callable[..., tuple[int, str]]

PLAIN = "def test_{name}(): pass\n"
MEET = """
import os, pathlib, time
HERE = pathlib.Path(os.environ["HERE"])
def meet(own, other, text):
    (HERE / f"{own}.new").write_text(str(text))
    (HERE / f"{own}.new").rename(HERE / own)
    while not (HERE / other).exists():
        time.sleep(0.01)
    return (HERE / other).read_text()
"""
"""Two tests tell each other something while both run, which they can in two processes alone."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that writes files, runs pytest there, and returns its exit status and output."""

    def run_pytest(files: Mapping[str, str], *options: str) -> tuple[int, str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text, encoding="utf-8")
        (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-p", "tests.forks", "-p", "no:cacheprovider", "--forks", "2"]
        # Sorted by name, as pytest collects them; other plug-ins would only be slow to import.
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "HERE": str(tmp_path),
        }
        command += ["--import-mode=importlib", f"--basetemp={tmp_path / 'temporary'}", *options]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run_pytest


def summary(output: str) -> str:
    """The last line, without its time."""
    return output.splitlines()[-1].strip("= ").partition(" in ")[0]


def test_tests_that_pass_end_with_the_summary_and_status_of_pytest(run: Run) -> None:
    status, output = run({f"test_{name}.py": PLAIN.format(name=name) for name in "abc"})
    assert (status, summary(output)) == (0, "3 passed")


def test_tests_run_in_processes_of_their_own_beside_each_other(run: Run) -> None:
    test = MEET + "def test_it(): assert meet('{}', '{}', os.getpid()) != str(os.getpid())\n"
    status, output = run(pair(test))
    assert (status, summary(output)) == (0, "2 passed")


def pair(test: str) -> dict[str, str]:
    """Two files with the same test, for the names of itself and of the other one."""
    return {f"test_{own}.py": test.replace("'{}', '{}'", f"'{own}', '{other}'") for own, other in ("ab", "ba")}


def test_a_failure_is_shown_with_its_assertion_and_what_was_printed(run: Run) -> None:
    text = "def test_sum():\n    print('an apple')\n    assert 1 + 1 == 3\n"
    status, output = run({"test_a.py": text, "test_b.py": PLAIN.format(name="b")})
    assert (status, summary(output)) == (1, "1 failed, 1 passed")
    assert "E       assert (1 + 1) == 3" in output
    assert "an apple" in output
    assert "FAILED test_a.py::test_sum - assert (1 + 1) == 3" in output


def test_a_skip_is_listed_with_its_reason(run: Run) -> None:
    text = "import pytest\ndef test_a(): pytest.skip('no server is installed')\n"
    status, output = run({"test_a.py": text, "test_b.py": PLAIN.format(name="b")}, "-ra")
    assert (status, summary(output)) == (0, "1 passed, 1 skipped")
    assert "SKIPPED [1] test_a.py:2: no server is installed" in output


def test_a_warning_is_listed_with_its_class_and_text(run: Run) -> None:
    text = "import warnings\nclass Ripe(UserWarning): pass\ndef test_a(): warnings.warn('an apple', Ripe)\n"
    status, output = run({"test_a.py": text})
    assert (status, summary(output)) == (0, "1 passed, 1 warning")
    assert "test_a.py:3: Warning: Ripe: an apple" in output


@pytest.mark.parametrize(
    ("end", "how"), [("os.kill(os.getpid(), 9)", "signal 9"), ("os._exit(0)", "status 0")], ids=["signal", "exit"]
)
def test_a_process_that_ends_fails_its_test_alone(run: Run, end: str, how: str) -> None:
    text = f"import os\ndef test_first(): pass\ndef test_end(): {end}\ndef test_last(): pass\n"
    status, output = run({"test_a.py": text, "test_b.py": PLAIN.format(name="b")})
    assert (status, summary(output)) == (1, "1 failed, 3 passed")
    assert f"FAILED test_a.py::test_end - the process of this test ended with {how}" in output.replace("\n", "")


def test_nothing_begins_after_the_first_failure_with_x(run: Run) -> None:
    text = "import os, pathlib\ndef test_a(): assert False\n"
    text += "def test_b(): pathlib.Path(os.environ['HERE'], 'begun').touch()\n"
    status, output = run({"test_a.py": text}, "-x")
    assert (status, summary(output)) == (1, "1 failed")
    assert "stopping after 1 failures" in output
    assert "begun" not in os.listdir(output_folder(output))


def output_folder(output: str) -> str:
    """The folder that pytest ran in, as it says."""
    return next(line.removeprefix("rootdir: ") for line in output.splitlines() if line.startswith("rootdir: "))


def test_a_test_that_ends_pytest_ends_it_in_all_processes(run: Run) -> None:
    text = "import pytest\ndef test_a(): pytest.exit('the disk is full')\ndef test_b(): pass\n"
    status, output = run({"test_a.py": text})
    assert status == 2
    assert "the disk is full" in output


def test_files_begin_in_their_order_and_one_process_runs_a_whole_file(run: Run) -> None:
    note = "import os, pathlib\ndef note(name):\n    with open(pathlib.Path(os.environ['HERE'], 'log'), 'a') as file:\n"
    note += "        file.write(f'{os.getpid()} {name}\\n')\n"
    files = {
        f"test_{name}.py": note + f"def test_1(): note('{name}1')\ndef test_2(): note('{name}2')\n" for name in "abcd"
    }
    status, output = run(files)
    assert (status, summary(output)) == (0, "8 passed")
    lines = [line.split() for line in Path(output_folder(output), "log").read_text("utf-8").splitlines()]
    firsts = [name[0] for _, name in lines if name.endswith("1")]
    assert set(firsts[:2]) <= set("abc"), "two processes take the files from the front"
    assert all(len({process for process, name in lines if name[0] == file}) == 1 for file in "abcd")


def test_a_process_is_replaced_after_many_files(run: Run) -> None:
    note = "import os, pathlib\ndef test_it():\n    with open(pathlib.Path(os.environ['HERE'], 'log'), 'a') as file:\n"
    note += "        file.write(f'{os.getpid()}\\n')\n"
    status, output = run({f"test_{number}.py": note for number in range(2 * MOST_GROUPS + 1)})
    assert (status, summary(output)) == (0, f"{2 * MOST_GROUPS + 1} passed")
    counts = Counter(Path(output_folder(output), "log").read_text("utf-8").splitlines())
    assert len(counts) >= 3
    assert max(counts.values()) <= MOST_GROUPS


def test_an_error_in_a_process_that_replaces_another_has_no_context(run: Run) -> None:
    text = "import sys\ndef test_it(): assert sys.exc_info() == (None, None, None)\n"
    files = {f"test_{number:03}.py": text for number in range(3 * MOST_GROUPS)}
    assert run(files)[0] == 0


def test_files_that_go_together_share_a_process_and_the_fixtures_of_its_session(run: Run) -> None:
    conftest = "import os, pathlib, pytest\n@pytest.fixture(scope='session')\ndef server():\n"
    conftest += "    log = pathlib.Path(os.environ['HERE'], 'log')\n"
    conftest += "    with log.open('a') as file: file.write('begun\\n')\n    yield os.getpid()\n"
    conftest += "    with log.open('a') as file: file.write('ended\\n')\n"
    test = "import os\ndef test_it(server): assert server == os.getpid()\n"
    names = ("test_kill", "test_hpa", "test_explain")
    status, output = run({"conftest.py": conftest, **{f"tests/e2e/{name}.py": test for name in names}})
    assert (status, summary(output)) == (0, "3 passed")
    assert Path(output_folder(output), "log").read_text("utf-8") == "begun\nended\n"


def test_a_fixture_of_the_session_that_fails_at_its_end_is_an_error(run: Run) -> None:
    conftest = (
        "import pytest\n@pytest.fixture(scope='session')\ndef server():\n    yield\n    raise OSError('still bound')\n"
    )
    status, output = run({"conftest.py": conftest, "test_a.py": "def test_a(server): pass\n"})
    assert (status, summary(output)) == (1, "1 passed, 1 error")
    assert "OSError: still bound" in output


def test_temporary_folders_of_two_processes_differ(run: Run) -> None:
    test = MEET + "def test_it(tmp_path_factory):\n    folder = tmp_path_factory.mktemp('server', numbered=False)\n"
    status, output = run(pair(test + "    assert meet('{}', '{}', folder) != str(folder)\n"))
    assert (status, summary(output)) == (0, "2 passed")


def test_free_ports_of_two_processes_differ_though_both_inherit_one(run: Run) -> None:
    test = MEET + "from tests.servers import free_port\nfree_port()\n"
    test += "def test_it():\n    port = free_port()\n    assert meet('{}', '{}', port) != str(port)\n"
    status, output = run(pair(test))
    assert (status, summary(output)) == (0, "2 passed")


def test_a_thread_of_an_import_is_refused(run: Run) -> None:
    text = "import threading\nend = threading.Event()\nthreading.Thread(target=end.wait, name='poller', daemon=True).start()\n"
    status, output = run({"test_a.py": text + PLAIN.format(name="a")})
    assert status == 4
    assert "poller" in output


def test_a_file_that_cannot_be_imported_is_an_error_as_ever(run: Run) -> None:
    status, output = run({"test_a.py": "import nothing_of_that_name\n", "test_b.py": PLAIN.format(name="b")})
    assert (status, summary(output)) == (2, "1 error")
