"""Preparation of a decoded body for storage: pruned, completed and validated by the schema of its kind.

Unknown fields are dropped with a warning, or refused if the client asks for strict validation. Next in the flow:
`access/admission.py`, then the store.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from keda_py.apis.foreign import name_of
from keda_py.localkube.model.calls import Call
from keda_py.localkube.store import custom_resources, namespaces
from keda_py.schema.builtin_kinds import schema_of
from keda_py.schema.decoding import check_types, replace_nulls
from keda_py.schema.defaults import apply_defaults
from keda_py.schema.metadata_rules import check_metadata
from keda_py.schema.resources import Obj, Resource
from keda_py.schema.schemas import Schema, prune
from keda_py.schema.status import Cause, bad_request, invalid
from keda_py.schema.validation import validate

# Completions of new objects that a schema cannot express.
_COMPLETIONS: dict[tuple[str, str], Callable[[Obj], Obj]] = {
    ("", "namespaces"): namespaces.with_defaults,
    custom_resources.KEY: custom_resources.with_defaults,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedObject:
    """An object ready for storage, with the warnings for the client."""

    obj: Obj
    warnings: tuple[str, ...] = ()


def schema_for(resource: Resource) -> Schema | None:
    """The schema of a kind; None for a built-in kind that is stored unchecked."""
    if resource.custom or resource.schema is not None:
        return dict(resource.schema) if resource.schema is not None else None
    return schema_of(resource.group, resource.version, resource.kind)


def prepare_new(call: Call, resource: Resource, obj: Obj) -> PreparedObject:
    """Prepare a new object: its writer cannot set the status."""
    if "status" in resource.subresources:
        obj = {key: value for key, value in obj.items() if key != "status"}
    return prepare(call, resource, obj)


def prepare(call: Call, resource: Resource, obj: Obj, old: Obj | None = None) -> PreparedObject:
    """Check types, prune, complete and validate; `old` is the object that it replaces, None at creation.

    Raises StatusError 400 for a field of the wrong type or, in strict mode, an unknown one; 422 for wrong values.
    """
    # Each step relies on those before it: pruning on types, defaults on known fields, validation on defaults.
    schema = schema_for(resource)
    check_types(obj, schema or {})
    obj = replace_nulls(obj, schema or {})
    if schema is None:
        _refuse_if(resource, obj, list(check_metadata(obj, {})))
        return PreparedObject(obj=obj)
    complete = _COMPLETIONS.get(resource.key)
    if complete and old is None:
        obj = complete(obj)
    kept, dropped = prune(obj, schema)
    problems = tuple(f'unknown field "{path}"' for path in dropped)
    mode = call.query.get("fieldValidation") or "Warn"
    if problems and mode == "Strict":
        raise _strict(resource, ", ".join(problems))
    full = apply_defaults(kept, schema)
    _refuse_if(resource, full, validate(full, schema, old))
    return PreparedObject(obj=full, warnings=problems if mode == "Warn" else ())


def _refuse_if(resource: Resource, obj: Obj, causes: Sequence[Cause]) -> None:
    if causes:
        raise invalid(resource.group, resource.kind, name_of(obj), causes)


def _strict(resource: Resource, problems: str) -> Exception:
    head = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
    return bad_request(f"{head}: strict decoding error: {problems}")
