"""Schemas of the built-in kinds: fields, list keys, defaults and bounds, as far as clients can notice them.

`schema_of` is the entry point; there is one file for each API area, in the vocabulary of `builders`. Where depth has no
use here (a volume's driver options, a webhook's match conditions) any fields are accepted. Rules that compare fields
are in `builtin_defaults` and `builtin_rules`.
"""

from keda_py.localkube.builtin.schemas import access, apps, autoscaling, core, extensions, pods, records
from keda_py.schema.builders import Schema

_AREAS = (core, pods, apps, autoscaling, access, records, extensions)
_BY_KIND = {
    (gvk["group"], gvk["version"], gvk["kind"]): schema
    for area in _AREAS
    for schema in area.KINDS
    for gvk in schema["x-kubernetes-group-version-kind"]
}


def schema_of(group: str, version: str, kind: str) -> Schema | None:
    """The schema of a built-in kind (group "" is core), or None if missing."""
    return _BY_KIND.get((group, version, kind))
