"""Builds and checks the files of a release, without a network: `python .ci/release.py --out dist`.

python/ has the source distribution and the wheel that is built from it, charts/ both charts, all with one version.
Workflows are checked against their schema; release.yml runs this very file, and publishes what it leaves. It needs
the layers `test` and `charts` of .ci/locks.
"""

import argparse
import os
import re  # noqa: TID251 - constant patterns over our own files
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path

import helm_python as helm

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = ROOT / ".github" / "workflows"
_RELATIVE = re.compile(r"\]\((?![a-z]+:|#)[^)]*\)")
_NO_IMAGE = 'keda: {registry: "", repository: "", tag: "", digest: ""}'
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class ReleaseError(Exception):
    """The release has a mistake; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """Image as REGISTRY/REPOSITORY; both parts are empty if none is published."""

    name: str
    digest: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and check everything; 1 after a mistake, which is printed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="empty folder for what is made")
    parser.add_argument("--source-url", default="", help="the repository, for links and project URLs [none]")
    parser.add_argument("--image", default="", help="REGISTRY/REPOSITORY, the chart's default then [none]")
    parser.add_argument("--tag", default="", help="the tag that is published; it needs both addresses [no publishing]")
    parser.add_argument("--digest", help="of the image that was pushed, for the chart: sha256:... [the tag alone]")
    given = parser.parse_args(arguments)
    try:
        version = check_versions(given.tag)
        if given.image and "/" not in given.image:
            raise ReleaseError(f"--image: {given.image} is no REGISTRY/REPOSITORY")
        if given.tag and not (given.source_url and given.image):
            raise ReleaseError(
                "--tag: what is published needs --source-url and --image; set the variable IMAGE_REPOSITORY"
            )
        check_digest(given.digest, given.image)
        check_workflows()
        if given.out.exists() and any(given.out.iterdir()):
            raise ReleaseError(f"--out: {given.out} is not empty; name another folder")
        made = [
            *build(given.out / "python", given.source_url),
            *package(given.out / "charts", version, Image(name=given.image, digest=given.digest or "")),
        ]
    except (ReleaseError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"release: {error}\n")
        return 1
    sys.stdout.write("".join(f"{path}\n" for path in made))
    return 0


def check_versions(tag: str) -> str:
    """Return the project's version, which package, charts and tag share. Raises ReleaseError."""
    version = str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
    with helm.Chart.load(str(ROOT / "charts/keda-py")) as chart:
        written = {"the chart's version": chart.version, "the chart's appVersion": chart.metadata["appVersion"]}
    code = (ROOT / "keda_py/__init__.py").read_text(encoding="utf-8")
    written["keda_py.__version__"] = next(iter(re.findall(r'^__version__ = "(.*)"$', code, re.MULTILINE)), "")
    for name, found in written.items():
        if found != version:
            raise ReleaseError(f"{name} is {found}, pyproject.toml has {version}; write the same")
    if tag not in ("", f"v{version}"):
        raise ReleaseError(f"the tag is {tag}, pyproject.toml has {version}; tag v{version}")
    return version


def check_digest(digest: str | None, image: str) -> None:
    """Refuse an incomplete or empty digest; None stands for an image that is not pushed yet."""
    if digest is not None and not (_DIGEST.fullmatch(digest) and image):
        raise ReleaseError(f"--digest: {digest!r} is no sha256:... of an image in --image; take what the push answered")


def check_workflows() -> None:
    """Validate each workflow against GitHub's schema, which the checker brings along."""
    files = [str(path) for path in sorted(WORKFLOWS.glob("*.y*ml"))]
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", *files]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"a workflow is not as its schema asks:\n{done.stdout}{done.stderr}")


def build(out: Path, source_url: str) -> Iterator[Path]:
    """Build the source distribution, and the wheel from that alone."""
    env = {key: value for key, value in os.environ.items() if key != "SOURCE_URL"}
    _hatch(ROOT, out, "sdist", env | {"SOURCE_URL": source_url})
    (sdist,) = out.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as unpacked, tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
        (folder,) = Path(unpacked).iterdir()
        _hatch(folder, out, "wheel", env)
    (wheel,) = out.glob("*.whl")
    check_wheel(wheel, source_url)
    yield from (sdist, wheel)


def _hatch(folder: Path, out: Path, target: str, env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out.resolve())]
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)


def check_wheel(wheel: Path, source_url: str) -> None:
    """Check that the wheel has all modules, only files that are read at run time, and working links."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (archive.read(name) for name in names if name.endswith(".dist-info/METADATA"))
    sources = {str(path.relative_to(ROOT)) for top in ("keda_py", "scalers") for path in (ROOT / top).rglob("*.py")}
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "keda_py/dashboard/static").iterdir()}
    data = {str(path.relative_to(ROOT)) for path in (ROOT / "keda_py").rglob("*.json")}
    wanted = sources | pages | data | {"keda_py/py.typed", "scalers/reference.toml"}
    packed = {name for name in names if ".dist-info/" not in name}
    if packed != wanted:
        raise ReleaseError(f"the wheel lacks {sorted(wanted - packed)}, and should not have {sorted(packed - wanted)}")
    told = message_from_bytes(metadata)
    body = told.get_payload(decode=True)
    page = body.decode("utf-8") if isinstance(body, bytes) else ""
    if told["Description-Content-Type"] != "text/markdown" or not page.startswith("# keda-py"):
        raise ReleaseError("the long description is not the README")
    if relative := _RELATIVE.findall(page):
        raise ReleaseError(f"links of the long description lead nowhere: {', '.join(relative)}; see hatch_build.py")
    if source_url and not all(source_url in one for one in told.get_all("Project-URL", ["none"])):
        raise ReleaseError(f"a project URL is not below {source_url}; see hatch_build.py")


def package(out: Path, version: str, image: Image) -> Iterator[Path]:
    """Package both charts with that version; charts/keda-py names its image, so that it can be installed as it is."""
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "charts", scratch, dirs_exist_ok=True)
        if image.name:
            _name_image(Path(scratch, "keda-py"), image)
        for name, app_version in (("keda-py", version), ("scaled-app", None)):
            folder = Path(scratch, name)
            yield Path(helm.package(str(folder), destination=str(out), version=version, app_version=app_version))
    with helm.Chart.load(str(out / f"keda-py-{version}.tgz")) as chart:
        whole = f"{image.name}:{version}" + (f"@{image.digest}" if image.digest else "")
        if image.name and f'image: "{whole}"' not in "".join(chart.render({}, name="keda").values()):
            raise ReleaseError(f"charts/keda-py: is not installed with {whole}; see {_NO_IMAGE!r} in values.yaml")


def _name_image(chart: Path, image: Image) -> None:
    """Set the image's name as a default value, and its digest as an annotation, which a user's own tag sets aside."""
    host, _, repository = image.name.partition("/")
    named = _NO_IMAGE.replace('registry: ""', f'registry: "{host}"').replace(
        'repository: ""', f'repository: "{repository}"'
    )
    values = chart / "values.yaml"
    values.write_text(values.read_text(encoding="utf-8").replace(_NO_IMAGE, named), encoding="utf-8")
    if image.digest:
        with (chart / "Chart.yaml").open("a", encoding="utf-8") as about:
            about.write(f"  keda-py.dev/image-digest: {image.digest}\n")  # its annotations come last


if __name__ == "__main__":
    sys.exit(main())
