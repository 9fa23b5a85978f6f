"""OpenAPI v3 as far as kubectl reads it: the index, and per group version the paths and schemas.

The `fieldValidation` parameter of a patch shows kubectl that the server validates; the group-version-kind of schemas
lets `kubectl explain` and client-side apply find their fields. OpenAPI v2 has only the head of its document.
"""

import hashlib
from typing import Any

from keda_py.localkube.model.calls import TEXT, ApiAnswer, Call
from keda_py.localkube.store.preparation import schema_for
from keda_py.schema.resources import Obj, Registry, Resource
from keda_py.schema.status import StatusError

_METHODS = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]
_INFO = {"title": "Kubernetes", "version": "v1.36.2"}
# The media types that clients accept; "@" is not allowed in the content type of an answer.
_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def index(registry: Registry) -> ApiAnswer:
    """List the documents, one for each group version."""
    custom = {resource.group for resource in registry if resource.custom}
    names = ["api", "api/v1", "apis", "version"]
    for group in registry.groups():
        names += [f"apis/{group.name}"] if group.name not in custom else []
        names += [f"apis/{group.name}/{version}" for version in group.versions]
    # Clients cache a document by its hash: it changes with every CRD, or kubectl would not find new fields.
    mark = hashlib.sha256(str(registry.version).encode()).hexdigest()[:32].upper()
    paths = {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={mark}"} for name in sorted(names)}
    return ApiAnswer(body={"paths": paths}, content_type=TEXT)


def document(registry: Registry, name: str) -> ApiAnswer:
    """The document of one group version; `name` is `api/v1` or `apis/GROUP/VERSION`."""
    parts = name.split("/")
    group, version = ("", parts[1]) if parts[0] == "api" and len(parts) == 2 else ("", "")
    if parts[0] == "apis" and len(parts) == 3:
        group, version = parts[1], parts[2]
    served = registry.resources(group, version) if version else []
    if not served and name not in ("api", "apis", "version") and len(parts) != 2:
        raise StatusError(404, "NotFound", "the server could not find the requested resource", {})
    paths: Obj = {}
    schemas: Obj = {}
    for resource in served:
        paths |= _paths(resource)
        schemas[_schema_name(resource)] = _schema(resource)
    return ApiAnswer(body={"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {"schemas": schemas}})


def v2(call: Call) -> ApiAnswer:
    """The OpenAPI v2 document without paths and definitions: JSON, or gnostic's protobuf, the only form that kubectl
    reads.

    kubectl asks for it to validate the items of a `List`, a kind that no v3 document has. It does not validate what it
    finds undefined there; the server does when the item is written.
    """
    if _V2_PROTOBUF not in call.accept:
        return ApiAnswer(body={"swagger": "2.0", "info": _INFO, "paths": {}})
    info = _field(1, _INFO["title"].encode()) + _field(2, _INFO["version"].encode())
    body = _field(1, b"2.0") + _field(2, info) + _field(8, b"")
    return ApiAnswer(body=body, content_type=_V2_PROTOBUF.replace("@", "."))


def _field(number: int, content: bytes) -> bytes:
    """Encode a protobuf field of less than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def _paths(resource: Resource) -> Obj:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    middle = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{root}{middle}/{resource.plural}"
    gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    reference = {"$ref": f"#/components/schemas/{_schema_name(resource)}"}
    content = {"application/json": {"schema": reference}}

    def operation(action: str) -> Obj:
        return {
            "parameters": _PARAMETERS,
            "responses": {"200": {"description": "OK", "content": content}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk,
        }

    one = {method: operation(verb) for method, verb in _METHODS.items() if verb in resource.verbs}
    every: Obj = {"get": operation("list")} if "list" in resource.verbs else {}
    if "create" in resource.verbs:
        every["post"] = {**operation("post"), "requestBody": {"content": content}}
    return {collection: every} | ({collection + "/{name}": one} if one else {})


def _schema_name(resource: Resource) -> str:
    return f"io.k8s.{resource.group or 'core'}.{resource.version}.{resource.kind}"


def _schema(resource: Resource) -> Obj:
    schema: dict[str, Any] = dict(
        schema_for(resource) or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    )
    gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    text = {"type": "string"}
    head = {"apiVersion": text, "kind": text, "metadata": {"type": "object"}}
    properties = {**head, **(schema.get("properties") or {})}
    return {"type": "object", **schema, "properties": properties, "x-kubernetes-group-version-kind": [gvk]}
