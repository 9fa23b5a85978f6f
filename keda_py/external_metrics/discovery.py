"""Discovery documents of the metrics server: groups, resources, OpenAPI. Static, rendered once.

A group has one version; the insight group has two resources, one per kind. `/apis` has two forms: the list of groups,
and since Kubernetes 1.26 everything at once (aggregated discovery), for clients that accept it. Each document has an
ETag, because the aggregator and kubectl request it again and again.
"""

from dataclasses import dataclass, replace
from hashlib import sha256

import orjson
import re2

from keda_py import __version__
from keda_py.external_metrics.authorised_request import ApiResponse, AuthorisedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Read-only resource of a group with one version."""

    group: str
    version: str
    kind: str
    resource: str
    path: str
    verb: str
    description: str

    @property
    def group_version(self) -> str:
        """Return GROUP/VERSION, the `apiVersion` of its objects."""
        return f"{self.group}/{self.version}"

    @property
    def root(self) -> str:
        """Return the URL path of its group and version."""
        return f"/apis/{self.group_version}"

    @property
    def service_name(self) -> str:
        """Return the name of its APIService, VERSION.GROUP."""
        return f"{self.version}.{self.group}"


METRICS = Api(
    group="external.metrics.k8s.io",
    version="v1beta1",
    kind="ExternalMetricValueList",
    resource="externalmetrics",
    path="/namespaces/{namespace}/{metric}",
    verb="list",
    description="values of one metric of the ScaledObject that labelSelector names",
)
INSIGHT = Api(
    group="insight.keda-py.dev",
    version="v1alpha1",
    kind="ScaledObjectInsight",
    resource="scaledobjects",
    path="/namespaces/{namespace}/scaledobjects/{name}",
    verb="get",
    description="why a ScaledObject was scaled or not, and what comes next",
)
JOB_INSIGHT = replace(
    INSIGHT,
    kind="ScaledJobInsight",
    resource="scaledjobs",
    path="/namespaces/{namespace}/scaledjobs/{name}",
    description="why a ScaledJob created Jobs or none, and what comes next",
)
APIS = (METRICS, INSIGHT)
"""One resource of each group."""
RESOURCES = (METRICS, INSIGHT, JOB_INSIGHT)
PROBES = ("/healthz", "/livez", "/readyz")
GROUP_VERSION, ROOT = METRICS.group_version, METRICS.root

_INFO = {"title": "keda-py", "version": f"v{__version__}"}


def _in_group(api: Api) -> tuple[Api, ...]:
    return tuple(resource for resource in RESOURCES if resource.group == api.group)


def _openapi_v3(api: Api) -> object:
    paths = {f"{resource.root}{resource.path}": {"get": _operation(resource)} for resource in _in_group(api)}
    return {"openapi": "3.0.0", "info": _INFO, "paths": paths}


def _operation(api: Api) -> object:
    names = re2.findall(r"\{(\w+)\}", api.path)
    places = [(name, "path") for name in names] + ([("labelSelector", "query")] if api is METRICS else [])
    return {
        "description": api.description,
        "parameters": [
            {"name": name, "in": where, "required": where == "path", "schema": {"type": "string"}}
            for name, where in places
        ],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": api.verb,
        "x-kubernetes-group-version-kind": {"group": api.group, "version": api.version, "kind": api.kind},
    }


def _group(api: Api) -> dict[str, object]:
    versions = [{"groupVersion": api.group_version, "version": api.version}]
    return {"name": api.group, "versions": versions, "preferredVersion": versions[0]}


def _resources(api: Api) -> object:
    listed = [
        {"name": resource.resource, "singularName": "", "namespaced": True, "kind": resource.kind, "verbs": ["get"]}
        for resource in _in_group(api)
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api.group_version, "resources": listed}


def _discovered(api: Api) -> object:
    """Return a group in the form of aggregated discovery."""
    listed = [
        {
            "resource": resource.resource,
            "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
            "scope": "Namespaced",
            "singularResource": "",
            "verbs": ["get"],
        }
        for resource in _in_group(api)
    ]
    versions = [{"version": api.version, "resources": listed, "freshness": "Current"}]
    return {"metadata": {"name": api.group, "creationTimestamp": None}, "versions": versions}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Body ready to be sent."""

    body: bytes
    content_type: str
    etag: str


def _document(body: object, content_type: str = "application/json") -> Document:
    text = orjson.dumps(body)
    return Document(body=text, content_type=content_type, etag=sha256(text).hexdigest()[:32].upper())


def _aggregated(version: str) -> Document:
    """Return the one document that `kubectl api-resources` and the aggregator need."""
    body = {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_discovered(api) for api in APIS],
    }
    return _document(body, f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList")


# Both versions, because Kubernetes 1.26 to 1.29 ask for v2beta1 and later ones for v2.
_AGGREGATED = {version: _aggregated(version) for version in ("v2", "v2beta1")}


async def answer_document(question: AuthorisedRequest) -> ApiResponse:
    """Return the document at a path of DOCUMENTS, or 304 if the client has it already."""
    headers = question.asked.headers
    document = document_for(question.asked.wanted.path, headers.get("Accept", ""))
    cached = {"ETag": f'"{document.etag}"', "Vary": "Accept"}
    if document.etag in headers.get("If-None-Match", ""):
        return ApiResponse(body=b"", status=304, headers=cached)
    return ApiResponse(body=document.body, content_type=document.content_type, headers=cached)


def document_for(path: str, accept: str) -> Document:
    """Return the document at `path` in the first form of the Accept header that exists."""
    if path == "/apis":
        for wanted in accept.split(","):
            kind, *parameters = (part.strip() for part in wanted.split(";"))
            values = dict(part.partition("=")[::2] for part in parameters)
            if kind == "application/json" and values.get("as") != "APIGroupDiscoveryList":
                break
            if kind == "application/json" and values.get("v") in _AGGREGATED:
                return _AGGREGATED[values["v"]]
    return DOCUMENTS[path]


DOCUMENTS: dict[str, Document] = {
    path: _document(body)
    for path, body in {
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(api) for api in APIS]},
        **{f"/apis/{api.group}": {"kind": "APIGroup", "apiVersion": "v1", **_group(api)} for api in APIS},
        **{api.root: _resources(api) for api in APIS},
        "/openapi/v2": {"swagger": "2.0", "info": _INFO, "paths": {}},
        "/openapi/v3": {
            "paths": {api.root[1:]: {"serverRelativeURL": f"/openapi/v3{api.root}?hash={__version__}"} for api in APIS}
        },
        **{f"/openapi/v3{api.root}": _openapi_v3(api) for api in APIS},
        "/version": {"major": "1", "minor": "30", "gitVersion": f"v{__version__}", "platform": "python"},
    }.items()
}
"""Documents by path."""
DOCUMENTS["/"] = _document({"paths": [*DOCUMENTS, *PROBES]})
