"""Rules for `metadata`: names, labels and annotations, the same for built-in kinds and custom resources.

Called by `validation`. All patterns are re2's, since users write the texts that they match.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import re2

from keda_py.apis.foreign import text_at
from keda_py.schema import causes
from keda_py.schema.resources import Obj
from keda_py.schema.schemas import Schema
from keda_py.schema.status import Cause

_LABEL_FORM = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORM = rf"{_LABEL_FORM}(\.{_LABEL_FORM})*"
_SERVICE_FORM = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED_FORM = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FORM = f"({_QUALIFIED_FORM})?"

SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_FORM}')"
)
LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_FORM}')"
)
_SERVICE_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_SERVICE_FORM}')"
)
_QUALIFIED_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED_FORM}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE_FORM}')"
)

_LABEL, _SUBDOMAIN, _SERVICE, _QUALIFIED, _VALUE = (
    re2.compile(form) for form in (_LABEL_FORM, _SUBDOMAIN_FORM, _SERVICE_FORM, _QUALIFIED_FORM, _VALUE_FORM)
)
# Kinds whose names are DNS labels, and kinds whose names must merely be valid path segments.
_LABEL_KINDS = frozenset({("", "Namespace")})
_PATH_KINDS = frozenset(
    {("rbac.authorization.k8s.io", kind) for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")}
    | {("apiregistration.k8s.io", "APIService"), ("", "Event"), ("events.k8s.io", "Event")}
)
_ANNOTATIONS_LIMIT = 256 * 1024


def check_metadata(obj: Obj, schema: Schema) -> Iterator[Cause]:
    """Check name, labels and annotations of an object."""
    metadata = obj.get("metadata") or {}
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    name = metadata.get("name")
    if not name:
        yield causes.required("metadata.name", "name or generateName is required")
    else:
        yield from check_name(str(name), (group, str(obj.get("kind", ""))))
    yield from check_labels(metadata.get("labels") or {}, "metadata.labels")
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        yield from check_key(key.lower(), "metadata.annotations")
    for finalizer in metadata.get("finalizers") or ():
        yield from check_key(finalizer or "", "metadata.finalizers")
    yield from _check_owners(metadata.get("ownerReferences") or ())
    if sum(len(key) + len(str(value)) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        yield causes.too_long("metadata.annotations", _ANNOTATIONS_LIMIT)


def _check_owners(owners: Iterable[Obj | None]) -> Iterator[Cause]:
    for owner in owners:
        for field in ("apiVersion", "kind", "name", "uid"):
            if not text_at(owner, field):
                text = "version must not be empty" if field == "apiVersion" else "must not be empty"
                yield causes.invalid(f"metadata.ownerReferences.{field}", "", text)


def check_name(name: str, kind: tuple[str, str]) -> Iterator[Cause]:
    """Check metadata.name by the rule of its kind, (group, kind)."""
    if kind in _PATH_KINDS:
        if "/" in name or "%" in name:
            character = "/" if "/" in name else "%"
            yield causes.invalid("metadata.name", name, f"may not contain '{character}'")
        return
    if kind == ("", "Service"):
        pattern, text, limit = _SERVICE, _SERVICE_TEXT, 63
    elif kind in _LABEL_KINDS:
        pattern, text, limit = _LABEL, LABEL_TEXT, 63
    else:
        pattern, text, limit = _SUBDOMAIN, SUBDOMAIN_TEXT, 253
    if len(name) > limit:
        yield causes.invalid("metadata.name", name, f"must be no more than {limit} bytes")
    if pattern.fullmatch(name) is None:
        yield causes.invalid("metadata.name", name, text)


def is_label(name: Any) -> bool:
    """Whether it is a valid name of a container or port."""
    return isinstance(name, str) and len(name) <= 63 and _LABEL.fullmatch(name) is not None


def check_labels(labels: dict[str, Any], path: str) -> Iterator[Cause]:
    """Check the keys and values of a label map."""
    for key, value in labels.items():
        yield from check_key(key, path)
        if len(str(value)) > 63:
            yield causes.invalid(path, value, "must be no more than 63 bytes")
        if _VALUE.fullmatch(str(value)) is None:
            yield causes.invalid(path, value, _VALUE_TEXT)


def check_key(key: str, path: str) -> Iterator[Cause]:
    """Check a qualified name: an optional DNS prefix, a slash, a name."""
    prefix, slash, name = key.rpartition("/")
    if slash and (not prefix or _SUBDOMAIN.fullmatch(prefix) is None):
        text = f"prefix part {SUBDOMAIN_TEXT}" if prefix else "prefix part must be non-empty"
        yield causes.invalid(path, key, text)
    if not name:
        yield causes.invalid(path, key, "name part must be non-empty")
    elif len(name) > 63:
        yield causes.invalid(path, key, "name part must be no more than 63 bytes")
    if name and _QUALIFIED.fullmatch(name) is None:
        yield causes.invalid(path, key, _QUALIFIED_TEXT)
