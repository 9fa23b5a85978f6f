"""Installed objects, as files or the API server have them, by kind; `listing.py` reads a cluster.

What may not or cannot be read goes into `unread` and becomes a finding: a check that did not look must not resemble one
that found nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keda_py.apis.foreign import text_at
from keda_py.kube.resources import Obj, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Objects of one installation; `version` is the cluster's, as in "v1.31.2", "" if only files are known.

    `unread` are kinds of a cluster that could not be listed, or places in files that could not be read, and why.
    """

    objects: Mapping[str, Sequence[Obj]]
    version: str = ""
    unread: Mapping[str, str] = field(default_factory=dict)

    def of(self, resource: Resource) -> Sequence[Obj]:
        """Return all objects of a kind."""
        return self.objects.get(resource.kind, ())

    @property
    def live(self) -> bool:
        """Whether this is a cluster, so that an object that is missing here does not exist."""
        return bool(self.version)


def from_bodies(bodies: Iterable[Obj], unread: Mapping[str, str] | None = None) -> Installation:
    """Collect objects of manifests, and the places where others could not be read."""
    found: defaultdict[str, list[Obj]] = defaultdict(list)
    for body in bodies:
        found[text_at(body, "kind")].append(body)
    return Installation(objects=found, unread=unread or {})
