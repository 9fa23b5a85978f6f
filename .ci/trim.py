"""Removes from an environment what the operator never reads: `python .ci/trim.py ENVIRONMENT`; `.ci/image` calls it.

tests/packaging/test_image_root.py starts the operator from what is left, and loads every trigger type and every AWS
service of it.
"""

import re  # noqa: TID251 - constant patterns over our own files
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_AWS_SERVICE = re.compile(r'(?:aws_service|create_client)\(\s*"([a-z0-9-]+)"')
_UNUSED = (
    # keda_py/kube/thin_import.py loads neither API classes nor models, 47 MB; it looks for the package of the models.
    "kubernetes_asyncio/client/api",
    "kubernetes_asyncio/client/models/[!_]*",
    "kubernetes_asyncio/client/models/__pycache__",
    "kubernetes_asyncio/e2e_test",
    # The public holidays of stock exchanges: a Calendar names countries alone.
    "holidays/financial",
)
_SOURCES = (".pyx", ".pxd", ".pxi", ".c", ".cpp", ".h", ".pyi")
"""Files that a compiler or a type checker reads; `.py` files stay beside their bytecode, for tracebacks."""


def main() -> int:
    """Trim the environment that the command line names, and print how large it was and is, in MB."""
    environment = Path(sys.argv[1])
    (packages,) = environment.glob("lib/python3.*/site-packages")
    before = megabytes(environment)
    unused = [path for pattern in _UNUSED for path in packages.glob(pattern)]
    for path in [*unused, *_tests(packages), *_other_services(packages), *_sources(packages)]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    strip(packages)
    sys.stdout.write(f"{before} MB of packages, {megabytes(environment)} MB without what the operator never reads\n")
    return 0


def _tests(packages: Path) -> Iterator[Path]:
    """Find the test suites that distributions bring along."""
    yield from (path for path in packages.glob("*/tests") if path.is_dir())


def _sources(packages: Path) -> Iterator[Path]:
    """Find the files that were compiled, or that only a type checker reads."""
    yield from (path for path in packages.rglob("*") if path.suffix in _SOURCES and path.is_file())


def _other_services(packages: Path) -> Iterator[Path]:
    """Find botocore's descriptions of the AWS services that no file of ours asks for."""
    sources = [path for top in ("keda_py", "scalers") for path in (ROOT / top).rglob("*.py")]
    used = {name for path in sources for name in _AWS_SERVICE.findall(path.read_text(encoding="utf-8"))}
    for path in (packages / "botocore/data").iterdir():
        if path.is_dir() and path.name not in used:
            yield path


def strip(packages: Path) -> None:
    """Remove symbol tables and debug information from libraries, where binutils are installed."""
    if shutil.which("strip") is None:
        sys.stderr.write("no strip: libraries keep their debug information, 38 MB; install binutils\n")
        return
    libraries = [str(path) for path in packages.rglob("*.so*") if path.is_file()]
    subprocess.run(["strip", "--strip-unneeded", *libraries], check=True)


def megabytes(folder: Path) -> int:
    """Sum up the blocks of the files below the folder."""
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) * 512 // 1_000_000


if __name__ == "__main__":
    sys.exit(main())
