"""`keda-py local`: the embedded cluster as a process, with KEDA's CRDs, given manifests and, on request, an
operator.

The kubeconfig goes to standard output and into a file, logs go to standard error. Runs until cancelled.
"""

import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from keda_py.apis.kinds.crds import build_crds
from keda_py.errors import ConfigError
from keda_py.localkube.cluster import ClusterOptions, LocalCluster
from keda_py.schema.resources import Obj

log = logging.getLogger(__name__)

STDIN = Path("-")

Operator = Callable[[Path], Awaitable[None]]
"""Runs an operator against the cluster of a kubeconfig until cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """The flags of `keda-py local`."""

    files: tuple[Path, ...] = ()
    kubeconfig: Path = Path("keda-py-local.kubeconfig")
    cluster: ClusterOptions = field(default_factory=ClusterOptions)


async def run_local(options: LocalOptions, announce: Callable[[str], None], operator: Operator | None) -> None:
    """Start the cluster, apply KEDA's CRDs and the files, `announce` the kubeconfig (YAML), run until cancelled.

    `operator` None starts none. Raises ConfigError for a file that cannot be read, StatusError for a refused
    manifest.
    """
    manifests = sorted((one for path in options.files for one in read_manifests(path)), key=_is_no_prerequisite)
    async with LocalCluster(options=options.cluster) as cluster:
        await cluster.apply([*build_crds(), *manifests])
        kubeconfig = cluster.kubeconfig()
        _write_private(options.kubeconfig, kubeconfig)
        log.info("embedded cluster is ready", extra={"url": cluster.url, "kubeconfig": str(options.kubeconfig)})
        announce(kubeconfig)
        if operator is not None:
            await operator(options.kubeconfig)
        else:
            await cluster.wait()


def read_manifests(path: Path) -> Iterable[Obj]:
    """Read the objects of a YAML file, of all YAML files in a folder, or of standard input (-). Raises ConfigError."""
    files = sorted(path.glob("*.y*ml")) if path.is_dir() else [path]
    if not files:
        raise ConfigError(f"--filename {path}: no YAML files in this folder", field="filename")
    for file in files:
        try:
            text = sys.stdin.read() if file == STDIN else file.read_text(encoding="utf-8")
            documents = list(yaml.safe_load_all(text))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigError(f"--filename {file}: cannot be read: {error}", field="filename") from None
        for document in documents:
            if document:
                yield from _objects(file, document)


def _objects(file: Path, document: object) -> Iterable[Obj]:
    if not isinstance(document, dict) or not document.get("kind") or not document.get("apiVersion"):
        raise ConfigError(f"--filename {file}: a document is not a Kubernetes object; it needs apiVersion and kind")
    if document["kind"] == "List":
        for item in document.get("items") or ():
            yield from _objects(file, item)
    else:
        yield document


def _is_no_prerequisite(manifest: Obj) -> bool:
    """Sort key: Namespaces and CRDs are applied before the objects that need them."""
    return manifest["kind"] not in ("Namespace", "CustomResourceDefinition")


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read: a kubeconfig carries a key."""
    # The mode of an existing file stays, so it is set again before the key is written.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
