"""What the metrics server tells of itself: groups, resources, OpenAPI. Static documents, rendered once.

`/apis` has two forms: the list of groups, and since Kubernetes 1.26 everything at once (aggregated discovery), for
those who accept it. Each document has an ETag, because the aggregator and kubectl ask again and again.
"""

from dataclasses import dataclass
from hashlib import sha256

import orjson

from keda_py import __version__

GROUP = "external.metrics.k8s.io"
VERSION = "v1beta1"
GROUP_VERSION = f"{GROUP}/{VERSION}"
ROOT = f"/apis/{GROUP_VERSION}"

_KIND = "ExternalMetricValueList"
_VERSIONS = [{"groupVersion": GROUP_VERSION, "version": VERSION}]
_GROUP_BODY = {"name": GROUP, "versions": _VERSIONS, "preferredVersion": _VERSIONS[0]}

_METRIC_PATH = f"{ROOT}/namespaces/{{namespace}}/{{metric}}"
_INFO = {"title": "keda-py external metrics", "version": f"v{__version__}"}
_OPENAPI_V3_GROUP = {
    "openapi": "3.0.0",
    "info": _INFO,
    "paths": {
        _METRIC_PATH: {
            "get": {
                "description": "values of one metric of the ScaledObject that labelSelector names",
                "parameters": [
                    {"name": name, "in": where, "required": where == "path", "schema": {"type": "string"}}
                    for name, where in (("namespace", "path"), ("metric", "path"), ("labelSelector", "query"))
                ],
                "responses": {"200": {"description": "OK"}},
                "x-kubernetes-action": "list",
                "x-kubernetes-group-version-kind": {"group": GROUP, "version": VERSION, "kind": _KIND},
            }
        }
    },
}
_OPENAPI_V3 = {
    "paths": {f"apis/{GROUP_VERSION}": {"serverRelativeURL": f"/openapi/v3/apis/{GROUP_VERSION}?hash={__version__}"}}
}

_RESOURCE = {"name": "externalmetrics", "singularName": "", "namespaced": True, "kind": _KIND, "verbs": ["get"]}
_AGGREGATED_RESOURCE = {
    "resource": "externalmetrics",
    "responseKind": {"group": GROUP, "version": VERSION, "kind": _KIND},
    "scope": "Namespaced",
    "singularResource": "",
    "verbs": ["get"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A body, ready to be sent."""

    body: bytes
    content_type: str
    etag: str


def _document(body: object, content_type: str = "application/json") -> Document:
    text = orjson.dumps(body)
    return Document(body=text, content_type=content_type, etag=sha256(text).hexdigest()[:32].upper())


def _aggregated(version: str) -> Document:
    """All that `kubectl api-resources` and the aggregator want to know, in one answer."""
    versions = [{"version": VERSION, "resources": [_AGGREGATED_RESOURCE], "freshness": "Current"}]
    body = {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [{"metadata": {"name": GROUP, "creationTimestamp": None}, "versions": versions}],
    }
    return _document(body, f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList")


_AGGREGATED = {version: _aggregated(version) for version in ("v2", "v2beta1")}


def document_for(path: str, accept: str) -> Document:
    """The document at `path` in the first form of the Accept header that there is."""
    if path == "/apis":
        for wanted in accept.split(","):
            kind, *parameters = (part.strip() for part in wanted.split(";"))
            given = dict(part.partition("=")[::2] for part in parameters)
            if kind == "application/json" and given.get("as") != "APIGroupDiscoveryList":
                break
            if kind == "application/json" and given.get("v") in _AGGREGATED:
                return _AGGREGATED[given["v"]]
    return DOCUMENTS[path]


DOCUMENTS: dict[str, Document] = {
    path: _document(body)
    for path, body in {
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_GROUP_BODY]},
        f"/apis/{GROUP}": {"kind": "APIGroup", "apiVersion": "v1", **_GROUP_BODY},
        ROOT: {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": GROUP_VERSION,
            "resources": [_RESOURCE],
        },
        "/openapi/v2": {"swagger": "2.0", "info": _INFO, "paths": {}},
        "/openapi/v3": _OPENAPI_V3,
        f"/openapi/v3/apis/{GROUP_VERSION}": _OPENAPI_V3_GROUP,
        "/version": {"major": "1", "minor": "30", "gitVersion": f"v{__version__}", "platform": "python"},
    }.items()
}
"""By path."""
