"""What the metrics server tells of itself: groups, resources, OpenAPI. Static documents, rendered once."""

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

DOCUMENTS: dict[str, bytes] = {
    path: orjson.dumps(body)
    for path, body in {
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_GROUP_BODY]},
        f"/apis/{GROUP}": {"kind": "APIGroup", "apiVersion": "v1", **_GROUP_BODY},
        ROOT: {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": GROUP_VERSION,
            "resources": [
                {"name": "externalmetrics", "singularName": "", "namespaced": True, "kind": _KIND, "verbs": ["get"]}
            ],
        },
        "/openapi/v2": {"swagger": "2.0", "info": _INFO, "paths": {}},
        "/openapi/v3": _OPENAPI_V3,
        f"/openapi/v3/apis/{GROUP_VERSION}": _OPENAPI_V3_GROUP,
        "/version": {"major": "1", "minor": "30", "gitVersion": f"v{__version__}", "platform": "python"},
    }.items()
}
"""JSON by path."""
