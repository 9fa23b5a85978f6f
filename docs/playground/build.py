"""Makes the playground: `python docs/playground/build.py OUT NODE_MODULES/pyodide`.

OUT holds the page, Pyodide, schemas for editors, and one archive of keda-py with the packages that it needs there:
those of this environment that are Python alone, and pydantic-core's build for browsers by version and hash of
.ci/locks. It needs node, and an index for that one wheel.
"""

import json
import re  # noqa: TID251 - constant patterns over our own files
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from keda_py.apis.kinds.table import KINDS
from keda_py.sdk.json_schema import manifest_schema

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PURE = ("pydantic", "annotated-types", "typing-extensions", "typing-inspection", "croniter", "python-dateutil")
PURE += ("six", "tzdata", "holidays", "icalendar", "pyyaml", "rich", "pygments", "click", "attrs", "idna")
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
_COMPILE = """
import { loadPyodide } from "./pyodide.mjs";
const python = await loadPyodide();
python.FS.mkdirTree("/packages");
python.FS.mount(python.FS.filesystems.NODEFS, { root: process.argv[2] }, "/packages");
python.runPython(`
import compileall, py_compile
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
compileall.compile_dir("/packages", quiet=2, invalidation_mode=mode)
`);
"""


def main() -> int:
    """Fill the folder that the command line names."""
    out, pyodide = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    (out / "pyodide").mkdir(parents=True)
    for name in RUNTIME:
        shutil.copy(pyodide / name, out / "pyodide" / name)
    for name in ("index.html", "worker.mjs"):
        shutil.copy(HERE / name, out / name)
    write_schemas(out / "schemas")
    with tempfile.TemporaryDirectory() as scratch:
        packages = Path(scratch, "packages")
        packages.mkdir()
        gather(packages, json.loads((pyodide / "pyodide-lock.json").read_text())["info"])
        script = Path(scratch, "compile.mjs")
        script.write_text(_COMPILE.replace("./pyodide.mjs", (pyodide / "pyodide.mjs").as_uri()))
        subprocess.run(["node", str(script), str(packages)], check=True)
        shutil.make_archive(str(out / "packages"), "zip", packages)
    return 0


def write_schemas(folder: Path) -> None:
    """Write the JSON Schema of every kind, by its name in small letters."""
    folder.mkdir()
    for kind in KINDS:
        (folder / f"{kind.name.lower()}.json").write_text(json.dumps(manifest_schema(kind.name)))


def gather(packages: Path, runtime: dict[str, str]) -> None:
    """Copy the modules that the browser imports into one folder."""
    shutil.copy(HERE / "browser.py", packages)
    unwanted = shutil.ignore_patterns("__pycache__", "tests", "*.so", "static")
    for top in ("keda_py", "scalers"):
        shutil.copytree(ROOT / top, packages / top, ignore=unwanted)
    for name in PURE:
        for path in distribution(name).files or ():
            if ".." in path.parts or path.suffix in (".so", ".pyc", ".pyi") or "tests" in path.parts:
                continue
            target = packages / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(path.locate()), target)
    about = packages / "keda_py-0.dist-info"  # its entry points are the trigger types
    about.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (about / name).write_text(distribution("keda-py").read_text(name) or "")
    with zipfile.ZipFile(_core(packages.parent, runtime)) as wheel:
        wheel.extractall(packages)


def _core(scratch: Path, runtime: dict[str, str]) -> Path:
    """Download pydantic-core for the browser, in the version and with a hash of the lock."""
    lock = (ROOT / ".ci/locks/operator.lock").read_text(encoding="utf-8")
    (pin,) = (block for block in re.split(r"\n(?! )", lock) if block.startswith("pydantic-core=="))
    (scratch / "core.lock").write_text(f"{pin}\n")
    version = "".join(runtime["python"].split(".")[:2])
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
    ]
    command += ["--platform", f"pyemscripten_{runtime['abi_version']}_wasm32", "--python-version", version]
    command += [
        "--implementation",
        "cp",
        "--abi",
        f"cp{version}",
        "--dest",
        str(scratch),
        "-r",
        str(scratch / "core.lock"),
    ]
    subprocess.run(command, check=True)
    (wheel,) = scratch.glob("pydantic_core-*.whl")
    return wheel


if __name__ == "__main__":
    sys.exit(main())
