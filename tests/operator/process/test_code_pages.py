"""Code that has run leaves the process's memory, and runs again when it is called; what was written stays."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from keda_py.operator.process.memory import SMAPS, CodePages, unwritten

LIFE = """
import json
from pathlib import Path
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from keda_py.operator.process.memory import CodePages

def of_files():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith("RssFile"))

def sign():
    key = ec.generate_private_key(ec.SECP256R1())
    key.public_key().verify(key.sign(b"text", ec.ECDSA(SHA256())), b"text", ec.ECDSA(SHA256()))

sign()
written = [bytes(range(256)) * 16 for _ in range(256)]
code = CodePages()
before = of_files()
code.leave()
after = of_files()
sign()
code.leave()
kept = all(one == bytes(range(256)) * 16 for one in written)
import sqlite3
code.leave()
found = sqlite3.connect(":memory:").execute("SELECT 6 * 7").fetchone()[0]
print(json.dumps({"before": before, "after": after, "kept": kept, "found": found}))
"""


LOADED_LATER = """
import json
from keda_py.operator.process.memory import SMAPS, CodePages

def resident():
    in_it, total = False, 0
    for line in SMAPS.open():
        fields = line.split()
        if not fields[0].endswith(":"):
            in_it = "_rust.abi3" in line and "r-xp" in line
        elif in_it and fields[0] == "Rss:":
            total += int(fields[1])
    return total

code = CodePages()
from cryptography.hazmat.bindings import _rust
code.leave()
first = resident()
code.leave()
print(json.dumps([first, resident()]))
"""
pytestmark = pytest.mark.skipif(not SMAPS.exists(), reason="/proc/self/smaps: of Linux alone")


@pytest.fixture(scope="module")
def life() -> dict[str, int]:
    """What a process of its own saw: KiB of files in memory, and whether it works on."""
    done = subprocess.run([sys.executable, "-c", LIFE], capture_output=True, text=True, check=True, timeout=240)
    return dict(json.loads(done.stdout))


def test_most_of_what_libraries_have_in_memory_leaves_it(life: dict[str, int]) -> None:
    assert life["after"] < life["before"] / 2


def test_what_has_left_runs_when_it_is_called_again_and_what_was_written_is_there(life: dict[str, int]) -> None:
    assert life["kept"]
    assert life["found"] == 42


def mapping(head: str, anonymous: int) -> list[bytes]:
    lines = (head, "Size:  64 kB", "Rss:  64 kB", f"Anonymous:  {anonymous} kB", "VmFlags: rd mr mw me")
    return [line.encode() + b"\n" for line in lines]


@pytest.mark.parametrize(
    ("head", "anonymous", "leaves"),
    [
        pytest.param("1000-3000 r-xp 00001000 fe:00 77 /usr/lib/libssl.so.3", 0, True, id="code"),
        pytest.param("1000-3000 r--p 00001000 fe:00 77 /usr/lib/a name.so (deleted)", 0, True, id="constants"),
        pytest.param("1000-3000 r--p 00001000 fe:00 77 /usr/lib/libssl.so.3", 8, False, id="relocated addresses"),
        pytest.param("1000-3000 rw-p 00001000 fe:00 77 /usr/lib/libssl.so.3", 0, False, id="variables"),
        pytest.param("1000-3000 rw-s 00000000 fe:00 77 /run/a.journal", 0, False, id="shared memory"),
        pytest.param("1000-3000 r-xp 00000000 00:00 0 [vdso]", 0, False, id="the kernel's own"),
        pytest.param("1000-3000 r-xp 00000000 00:00 0 ", 0, False, id="code that the process made"),
    ],
)
def test_only_pages_that_the_file_still_has_may_leave(head: str, anonymous: int, leaves: bool) -> None:
    others = mapping("4000-5000 rw-p 00000000 00:00 0 [heap]", 4)
    expected = [(0x1000, 0x3000)] if leaves else []
    assert list(unwritten([*others, *mapping(head, anonymous), *others])) == expected


def test_a_library_that_is_being_loaded_is_not_touched_until_it_has_looked_the_same_twice() -> None:
    """The first look at a mapping only remembers it: in between, the loader may have written to a part of it."""
    done = subprocess.run([sys.executable, "-c", LOADED_LATER], capture_output=True, text=True, check=True, timeout=240)
    first, second = json.loads(done.stdout)
    assert first > 0
    assert second == 0


def test_a_kernel_that_tells_nothing_of_mappings_changes_nothing(tmp_path: Path) -> None:
    CodePages(tmp_path / "smaps").leave()


def test_lines_of_another_form_are_passed_over() -> None:
    lines = [b"\n", b"1000-3000 r-xp\n", b"Anonymous: 0 kB\n", *mapping("1000-3000 r-xp 0 fe:00 7 /a", 0)]
    assert list(unwritten(lines)) == [(0x1000, 0x3000)]
