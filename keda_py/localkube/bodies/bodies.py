"""Request bodies: JSON, YAML or kubectl's protobuf becomes a dict of the right kind, with the path's name.

Next in the flow: `store/preparation.py`, which prunes, defaults and validates it.
"""

from typing import Any

import orjson
import yaml

from keda_py.localkube.bodies.protobuf import decode_protobuf
from keda_py.localkube.model.calls import Call, RequestTarget
from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import StatusError, bad_request, unsupported_media_type

PROTOBUF = "application/vnd.kubernetes.protobuf"
_YAML = ("application/yaml", "application/x-yaml")
_ACCEPTED = ("application/json", "application/yaml", PROTOBUF)


def read_object(call: Call, target: RequestTarget, kind: tuple[str, str] | None = None) -> Obj:
    """Read the object of a POST or PUT; `kind` is (apiVersion, kind) if it is not the resource's, as for Scale."""
    resource = target.resource
    api_version, name = kind or (resource.api_version, resource.kind)
    obj = _decode(call, resource, name)
    check_kind(obj, api_version, name)
    return with_path_name({**obj, "apiVersion": api_version, "kind": name}, target)


def with_path_name(obj: Obj, target: RequestTarget) -> Obj:
    """Fill in the path's name and namespace. Raises StatusError 400 for other ones, or metadata that is not a map."""
    given = obj.get("metadata") or {}
    if not isinstance(given, dict):
        kind, version = obj.get("kind"), obj.get("apiVersion")
        raise bad_request(f"{kind} in version {version} cannot be handled: metadata must be an object")
    metadata = dict(given)
    sent, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    if target.name and sent and sent != target.name:
        raise bad_request(f"the name of the object ({sent}) does not match the name on the URL ({target.name})")
    if target.name:
        metadata["name"] = target.name
    if namespace and namespace != target.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if target.namespace:
        metadata["namespace"] = target.namespace
    return {**obj, "metadata": metadata}


def read_patch(call: Call) -> Any:
    """Read a merge, strategic or JSON patch."""
    try:
        return orjson.loads(call.body)
    except orjson.JSONDecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from None


def read_apply(call: Call) -> Obj:
    """Read the object of a server-side apply: YAML, which includes JSON."""
    # JSON is YAML, too, but orjson reads it eighty times faster than libyaml.
    try:
        obj = yaml.load(call.body, Loader=_LOADER) if not call.body.startswith(b"{") else orjson.loads(call.body)
    except (yaml.YAMLError, orjson.JSONDecodeError) as error:
        raise bad_request(f"error decoding YAML: {error}") from None
    if not isinstance(obj, dict):
        raise bad_request("error decoding YAML: the document is not an object")
    return obj


def read_options(call: Call) -> Obj:
    """Read the DeleteOptions of a DELETE; an empty body is valid."""
    if not call.body:
        return {}
    options = decode_protobuf(call.body) if call.content_type == PROTOBUF else read_patch(call)
    if not isinstance(options, dict):
        raise bad_request("DeleteOptions must be an object")
    return options


def check_kind(obj: Obj, api_version: str, kind: str) -> None:
    """Raise StatusError 400 for an object that states another kind."""
    sent_version, sent_kind = obj.get("apiVersion") or api_version, obj.get("kind") or kind
    if (sent_version, sent_kind) == (api_version, kind):
        return
    version = str(sent_version).rpartition("/")[2]
    message = f'{sent_kind} in version "{version}" cannot be handled as a {kind}: '
    if sent_kind == kind:
        text = f"the API version in the data ({sent_version}) does not match the expected API version ({api_version})"
        raise bad_request(text)
    raise bad_request(message + f'no kind "{sent_kind}" is registered for version "{sent_version}" here')


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # libyaml may be missing
    """A safe YAML loader that keeps timestamps as text, like the API server's."""


_Loader.yaml_implicit_resolvers = {
    key: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for key, resolvers in _Loader.yaml_implicit_resolvers.items()
}
_LOADER: Any = _Loader


def _decode(call: Call, resource: Resource, kind: str) -> Obj:
    if call.content_type == PROTOBUF and not resource.custom:
        return decode_protobuf(call.body)
    if call.content_type in _YAML:
        return read_apply(call)
    if call.content_type not in ("", "application/json"):
        raise unsupported_media_type(_ACCEPTED)
    try:
        obj = orjson.loads(call.body)
    except orjson.JSONDecodeError as error:
        raise _unrecognised(kind, error) from None
    if not isinstance(obj, dict):
        raise _unrecognised(kind, "the document is not an object")
    return obj


def _unrecognised(kind: str, problem: object) -> StatusError:
    text = f"couldn't get version/kind; json parse error: {problem}"
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {text}")
