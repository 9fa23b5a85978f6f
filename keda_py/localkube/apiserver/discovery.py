"""Discovery: which groups, versions and resources are served, in the plain and in the aggregated form.

kubectl asks for the aggregated form by its Accept header; older clients and `kubectl auth can-i` use the plain one.
"""

import base64
import hashlib
from collections.abc import Sequence

from keda_py.localkube.builtin.builtins import SUBRESOURCES
from keda_py.localkube.model.calls import ApiAnswer, Call
from keda_py.schema.resources import Group, Obj, Registry, Resource

_AGGREGATED = "as=APIGroupDiscoveryList"
# The real server lists the verbs of custom resources in this order.
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def core_versions(call: Call, registry: Registry) -> ApiAnswer:
    """Answer GET /api, which legacy clients ask for the core group."""
    if _AGGREGATED in call.accept:
        return _aggregated(call, registry, [Group(name="", versions=("v1",))])
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": call.headers.get("host", "")}]
    return ApiAnswer(body={"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses})


def groups(call: Call, registry: Registry) -> ApiAnswer:
    """List all groups, plain or aggregated by the Accept header."""
    if _AGGREGATED in call.accept:
        return _aggregated(call, registry, registry.groups())
    listed = [_group(group) for group in registry.groups()]
    return ApiAnswer(body={"kind": "APIGroupList", "apiVersion": "v1", "groups": listed})


def group(found: Group) -> ApiAnswer:
    """Describe one group with its versions."""
    return ApiAnswer(body={"kind": "APIGroup", "apiVersion": "v1", **_group(found)})


def resources(registry: Registry, name: str, version: str) -> ApiAnswer:
    """List the resources of a group version (GET /api/v1 and /apis/GROUP/VERSION)."""
    rows = [row for resource in registry.resources(name, version) for row in _rows(resource)]
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if name else {})
    return ApiAnswer(body={**head, "groupVersion": f"{name}/{version}" if name else version, "resources": rows})


def _group(found: Group) -> Obj:
    versions = [{"groupVersion": f"{found.name}/{version}", "version": version} for version in found.versions]
    return {"name": found.name, "versions": versions, "preferredVersion": versions[0]}


def _rows(resource: Resource) -> list[Obj]:
    """Describe a resource and its subresources as APIResources."""
    row: Obj = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(verbs_of(resource)),
        **_names(resource),
    }
    if "list" in resource.verbs:
        row["storageVersionHash"] = _storage_hash(resource)
    return [row, *(_subresource_row(resource, name) for name in sorted(resource.subresources))]


def _subresource_row(resource: Resource, name: str) -> Obj:
    known = SUBRESOURCES[name]
    elsewhere = {"group": known.group, "version": known.version} if known.group else {}
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **elsewhere,
        "kind": _kind(resource, name),
        "verbs": list(known.verbs),
    }


def _kind(resource: Resource, subresource: str) -> str:
    return SUBRESOURCES[subresource].kind.format(resource.kind) or resource.kind


def verbs_of(resource: Resource) -> Sequence[str]:
    """The verbs of a resource, in the real server's order."""
    return [verb for verb in _CUSTOM_VERBS if verb in resource.verbs] if resource.custom else resource.verbs


def _names(resource: Resource) -> Obj:
    short = {"shortNames": list(resource.short_names)} if resource.short_names else {}
    return short | ({"categories": list(resource.categories)} if resource.categories else {})


def _storage_hash(resource: Resource) -> str:
    digest = hashlib.sha256("/".join((*resource.key, resource.version, resource.kind)).encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def _aggregated(call: Call, registry: Registry, found: Sequence[Group]) -> ApiAnswer:
    version = "v2" if "v=v2;" in call.accept else "v2beta1"
    items = [_aggregated_group(registry, one) for one in found]
    head = {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}}
    content_type = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    return ApiAnswer(body={**head, "items": items}, content_type=content_type)


def _aggregated_group(registry: Registry, found: Group) -> Obj:
    versions = [
        {
            "version": version,
            "resources": [_aggregated_resource(resource) for resource in registry.resources(found.name, version)],
            "freshness": "Current",
        }
        for version in found.versions
    ]
    return {"metadata": {"name": found.name} if found.name else {}, "versions": versions}


def _aggregated_resource(resource: Resource) -> Obj:
    row: Obj = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(verbs_of(resource)),
        **_names(resource),
    }
    if resource.subresources:
        row["subresources"] = [_aggregated_subresource(resource, name) for name in sorted(resource.subresources)]
    return row


def _aggregated_subresource(resource: Resource, name: str) -> Obj:
    known = SUBRESOURCES[name]
    kind = {**_response_kind(resource), "kind": _kind(resource, name)}
    if known.group:
        kind = {"group": known.group, "version": known.version, "kind": known.kind}
    return {"subresource": name, "responseKind": kind, "verbs": list(known.verbs)}


def _response_kind(resource: Resource) -> Obj:
    """The kind in the aggregated form: built-in kinds omit group and version, custom ones state them."""
    if resource.custom:
        return {"group": resource.group, "version": resource.version, "kind": resource.kind}
    return {"group": "", "version": "", "kind": resource.kind}
