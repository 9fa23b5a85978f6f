"""Makes the files that a release has beside its packages, without a network: `python .ci/attachments.py --out DIR`.

crds.yaml has all definitions, sbom.json names what is installed from the lock (CycloneDX 1.5), keda-py.yaml and its
archive are the manifest and the plug-in for krew, NOTES.md is the release's part of CHANGELOG.md. release.yml publishes
them. It needs the layer `test` of .ci/locks.
"""

import argparse
import gzip
import hashlib
import io
import json
import re  # noqa: TID251 - constant patterns over our own files
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
_PIN = re.compile(r"^([\w.-]+)==([^ ;\\]+)(?: ; ([^\\]*?))?(?: \\)?$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_HEADING = re.compile(r"^## \[([^\]]+)\].*\n", re.MULTILINE)
_LAUNCHER = """#!/bin/sh
# kubectl keda-py, by whichever tool is here that runs a Python package in an environment of its own.
set -eu
if command -v uvx >/dev/null; then
    exec uvx --from 'keda-py[all]=={version}' keda-py "$@"
elif command -v pipx >/dev/null; then
    exec pipx run --spec 'keda-py[all]=={version}' keda-py "$@"
fi
echo "kubectl keda-py needs uv or pipx: install one, or \\`pip install 'keda-py[all]=={version}'\\`" >&2
exit 127
"""


class AttachmentError(Exception):
    """A file of the release cannot be made; the message says what to do."""


def main() -> int:
    """Write the files; 1 after a mistake, which is printed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the files, made if missing")
    parser.add_argument("--source-url", default="", help="the repository, for the address of krew's archive")
    parser.add_argument("--tag", default="", help="the tag that is published: CHANGELOG.md needs its section then")
    given = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    try:
        notes = release_notes(changes, project["version"], published=bool(given.tag))
    except AttachmentError as error:
        sys.stderr.write(f"attachments: {error}\n")
        return 1
    archive = krew_archive(project["version"])
    name = f"kubectl-keda_py-{project['version']}.tar.gz"
    files = {
        "NOTES.md": notes.encode(),
        "crds.yaml": subprocess.run(
            [sys.executable, "-m", "keda_py", "crds"], cwd=ROOT, check=True, capture_output=True
        ).stdout,
        "keda-py.yaml": yaml.safe_dump(
            krew_manifest(project, given.source_url, name, archive), sort_keys=False
        ).encode(),
        "sbom.json": json.dumps(bill_of_materials(project), indent=1).encode(),
        name: archive,
    }
    given.out.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        (given.out / path).write_bytes(content)
    sys.stdout.write("".join(f"{given.out / path}\n" for path in files))
    return 0


def release_notes(changes: str, version: str, *, published: bool) -> str:
    """Return the part of that version, or of what is unreleased where nothing is published. Raises AttachmentError."""
    _, *rest = _HEADING.split(changes)
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    wanted = version if published else "Unreleased"
    text = parts.get(wanted, "").strip()
    if not text and published:
        raise AttachmentError(f"CHANGELOG.md has no text under `## [{version}]`; rename `## [Unreleased]` to it")
    return f"{text}\n"


def pins() -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield name, version, marker and hashes of each distribution in the image, from its lock."""
    lock = (ROOT / ".ci/locks/operator.lock").read_text(encoding="utf-8")
    for block in re.split(r"\n(?! )", lock.strip()):
        if found := _PIN.match(block.partition("\n")[0]):
            yield found[1], found[2], found[3] or "", _HASH.findall(block)


def bill_of_materials(project: dict[str, Any]) -> dict[str, Any]:
    """List what is installed from the lock, as CycloneDX 1.5; the image's own list has Debian's packages, too."""
    name, version = project["name"], project["version"]
    top = {"type": "application", "name": name, "version": version, "bom-ref": f"pkg:pypi/{name}@{version}"}
    parts = []
    for part, found, marker, hashes in pins():
        url = f"pkg:pypi/{part}@{found}"
        archives = [
            {"type": "distribution", "url": url, "hashes": [{"alg": "SHA-256", "content": one}]} for one in hashes
        ]
        component = {"type": "library", "name": part, "version": found, "bom-ref": url, "purl": url}
        condition = [{"name": "python:marker", "value": marker}] if marker else []
        parts.append({**component, "externalReferences": archives, "properties": condition})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {**top, "purl": top["bom-ref"], "licenses": [{"license": {"id": project["license"]}}]}
        },
        "components": parts,
        "dependencies": [{"ref": top["bom-ref"], "dependsOn": [one["bom-ref"] for one in parts]}],
    }


def krew_archive(version: str) -> bytes:
    """Pack the plug-in: the same bytes each time, since the manifest has their digest."""
    content = io.BytesIO()
    members = {"kubectl-keda_py": _LAUNCHER.format(version=version), "LICENSE": (ROOT / "LICENSE").read_text("utf-8")}
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text.encode()), 0o755 if name != "LICENSE" else 0o644
            archive.addfile(member, io.BytesIO(text.encode()))
    return gzip.compress(content.getvalue(), mtime=0)


def krew_manifest(project: dict[str, Any], source_url: str, name: str, archive: bytes) -> dict[str, Any]:
    """Describe the plug-in to krew, for Linux and macOS; its archive is a file of the release."""
    version = project["version"]
    platform = {
        "selector": {"matchExpressions": [{"key": "os", "operator": "In", "values": ["linux", "darwin"]}]},
        "uri": f"{source_url}/releases/download/v{version}/{name}",
        "sha256": hashlib.sha256(archive).hexdigest(),
        "bin": "kubectl-keda_py",
    }
    spec = {
        "version": f"v{version}",
        "homepage": source_url,
        "shortDescription": "Sleep, wake and explain workloads",
        "description": f"{project['description']}\n",
        "caveats": "It runs by uvx or pipx; install uv or pipx first.\n",
        "platforms": [platform],
    }
    head = {"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin"}
    return {**head, "metadata": {"name": "keda-py"}, "spec": spec}


if __name__ == "__main__":
    sys.exit(main())
