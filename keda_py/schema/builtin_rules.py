"""Rules of built-in kinds that a schema cannot state: fields that must agree, and fields that must not change.

`validation` calls `check_builtin` with a decoded object (types are right, defaults are in). One function for each kind,
with the API server's texts. `hpa_rules.py` has those of the HorizontalPodAutoscaler.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import re2

from keda_py.core.values.quantity import parse_milli
from keda_py.schema import causes
from keda_py.schema.cel import compile_rule
from keda_py.schema.cel_functions import CelError
from keda_py.schema.hpa_rules import check_hpa
from keda_py.schema.metadata_rules import LABEL_TEXT, check_labels, is_label
from keda_py.schema.resources import Obj
from keda_py.schema.schemas import Schema
from keda_py.schema.status import Cause

_IMMUTABLE = "field is immutable"
_CONFIG_KEY = re2.compile("[-._a-zA-Z0-9]+")
_CONFIG_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def check_builtin(obj: Obj, schema: Schema, old: Obj | None) -> Iterator[Cause]:
    """Yield the causes of a kind's own rules; `old` is None at creation."""
    gvk = schema["x-kubernetes-group-version-kind"][0]
    key = (gvk["group"], gvk["kind"])
    if key == _HPA:  # the one kind with rules that differ by version
        yield from check_hpa(obj, schema, old)
    elif (rule := _RULES.get(key)) is not None:
        yield from rule(obj, old)


def _spec(obj: Obj | None) -> Obj:
    return (obj or {}).get("spec") or {}


def _unchanged(new: Obj, old: Obj | None, field: str) -> Iterator[Cause]:
    """Check that `spec.FIELD` did not change."""
    if old is not None and _spec(new).get(field) != _spec(old).get(field):
        yield causes.invalid(f"spec.{field}", _spec(new).get(field), _IMMUTABLE)


def _workload(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    """Check a workload: its selector matches the template and is immutable, and its pods restart always."""
    spec = _spec(obj)
    kind = str(obj.get("kind", "")).lower()
    selector, template = spec.get("selector"), spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if selector == {}:
        yield causes.invalid("spec.selector", {}, f"empty selector is invalid for {kind}")
    elif selector is None or not _selects(selector, labels or {}):
        yield causes.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    yield from check_labels(labels or {}, "spec.template.metadata.labels")
    yield from _template(template, ("Always",), "spec.template")
    yield from _unchanged(obj, old, "selector")


def _selects(selector: Obj, labels: Obj) -> bool:
    for expression in selector.get("matchExpressions") or []:
        key, values = expression.get("key"), expression.get("values") or []
        has, listed = key in labels, labels.get(key) in values
        verdicts = {"In": has and listed, "NotIn": not (has and listed), "Exists": has, "DoesNotExist": not has}
        if not verdicts.get(expression.get("operator"), False):
            return False
    return all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())


def _template(template: Obj, policies: tuple[str, ...], path: str) -> Iterator[Cause]:
    spec = template.get("spec")
    if spec is None:
        return
    yield from _pod_spec(spec, f"{path}.spec")
    policy = spec.get("restartPolicy")
    if policy not in policies:
        yield causes.unsupported(f"{path}.spec.restartPolicy", policy, list(policies))


def _pod_spec(spec: Obj, path: str) -> Iterator[Cause]:
    names: set[str] = set()
    volumes = {volume.get("name") for volume in spec.get("volumes") or []}
    for field in ("initContainers", "containers"):
        for at, container in enumerate(spec.get(field) or []):
            yield from _container(container, f"{path}.{field}[{at}]", names)
            for place, mount in enumerate(container.get("volumeMounts") or []):
                if mount.get("name") not in volumes:
                    yield causes.not_found(f"{path}.{field}[{at}].volumeMounts[{place}].name", mount.get("name"))


def _container(container: Obj, path: str, names: set[str]) -> Iterator[Cause]:
    name = container.get("name", "")
    if name and not is_label(name):
        yield causes.invalid(f"{path}.name", name, LABEL_TEXT)
    elif name in names:
        yield causes.duplicate(f"{path}.name", name)
    names.add(name)
    if not container.get("image"):
        yield causes.required(f"{path}.image")
    resources = container.get("resources") or {}
    for resource, most in (resources.get("limits") or {}).items():
        request = (resources.get("requests") or {}).get(resource)
        if request is not None and parse_milli(request) > parse_milli(most):
            text = f"must be less than or equal to {resource} limit of {most}"
            yield causes.invalid(f"{path}.resources.requests", request, text)


def _pod(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from _pod_spec(_spec(obj), "spec")


def _stateful_set(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from _workload(obj, None)
    free = (
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    )
    if old is not None and _without(_spec(obj), free) != _without(_spec(old), free):
        yield causes.forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )


def _without(obj: Obj, names: Sequence[str]) -> Obj:
    return {key: value for key, value in obj.items() if key not in names}


def _job(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    template = _spec(obj).get("template") or {}
    yield from _template(template, ("OnFailure", "Never"), "spec.template")
    for field in ("completions", "selector", "template", "completionMode"):
        yield from _unchanged(obj, old, field)


def _config(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    """Check a ConfigMap or Secret: keys are file names, and an immutable one does not change."""
    for field in ("data", "binaryData"):
        for key in obj.get(field) or {}:
            if _CONFIG_KEY.fullmatch(key) is None:
                yield causes.invalid(f"{field}[{key}]", key, _CONFIG_KEY_TEXT)
    if old is None:
        return
    if old.get("immutable"):
        when_set = "field is immutable when `immutable` is set"
        if not obj.get("immutable"):
            yield causes.forbidden("immutable", when_set)
        for field in ("data", "binaryData"):
            if (obj.get(field) or {}) != (old.get(field) or {}):
                yield causes.forbidden(field, when_set)
    if obj.get("type") != old.get("type"):
        yield causes.invalid("type", obj.get("type"), _IMMUTABLE)


def _service(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    spec = _spec(obj)
    if not spec.get("ports") and spec.get("type") != "ExternalName" and spec.get("clusterIP") != "None":
        yield causes.required("spec.ports")
    if spec.get("type") == "ExternalName" and not spec.get("externalName"):
        yield causes.required("spec.externalName")
    address, before = spec.get("clusterIP"), _spec(old).get("clusterIP")
    if before and spec.get("type") != "ExternalName" and address != before:
        yield causes.invalid("spec.clusterIPs[0]", [address], "may not change once set")


def _binding(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    if old is not None and obj.get("roleRef") != old.get("roleRef"):
        yield causes.invalid("roleRef", obj.get("roleRef"), "cannot change roleRef")


def _core_event(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from _event(obj, obj.get("involvedObject") or {}, "reportingComponent")


def _new_event(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from _event(obj, obj.get("regarding") or {}, "reportingController")
    if old is not None:
        return
    if not obj.get("eventTime"):
        yield causes.required("eventTime")
    if obj.get("type") not in ("Normal", "Warning"):
        yield causes.invalid("type", "", f"has invalid value: {obj.get('type', '')}")
    for field, name in (("deprecatedFirstTimestamp", "firstTimestamp"), ("deprecatedLastTimestamp", "lastTimestamp")):
        if obj.get(field):
            yield causes.invalid(name, "", "needs to be unset")


def _event(obj: Obj, involved: Obj, controller: str) -> Iterator[Cause]:
    """Check an Event: its namespace is its object's; one with eventTime has a complete report."""
    namespace = (obj.get("metadata") or {}).get("namespace", "")
    about = involved.get("namespace", "")
    if about != namespace and not (not about and namespace in ("", "default", "kube-system")):
        yield causes.invalid("involvedObject.namespace", about, "does not match event.namespace")
    if not obj.get("eventTime"):
        return
    for field in (controller, "reportingInstance", "action", "reason"):
        if not obj.get(field):
            yield causes.required(field)
        elif len(obj[field]) > 128:
            yield causes.invalid(field, "", "can have at most 128 characters")
    if len(obj.get("note") or obj.get("message") or "") > 1024:
        yield causes.invalid("message", "", "can have at most 1024 characters")


def _api_service(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    wanted = f"{_spec(obj).get('version', '')}.{_spec(obj).get('group', '')}"
    name = (obj.get("metadata") or {}).get("name")
    if name != wanted:
        yield causes.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: {causes.quoted(wanted)}')
    if _spec(obj).get("insecureSkipTLSVerify") and _spec(obj).get("caBundle"):
        text = "may not be true if caBundle is present"
        yield causes.invalid("spec.insecureSkipTLSVerify", True, text)


def _crd(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    spec = _spec(obj)
    wanted = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"
    name = (obj.get("metadata") or {}).get("name")
    if name != wanted:
        yield causes.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    versions = spec.get("versions") or []
    if sum(1 for version in versions if version.get("storage")) != 1:
        yield causes.invalid("spec.versions", None, "must have exactly one version marked as storage version")
    for at, version in enumerate(versions):
        path = f"spec.versions[{at}].schema.openAPIV3Schema"
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if not schema:
            yield causes.required(path, "schemas are required")
        else:
            yield from _crd_rules(schema, path)


def _crd_rules(schema: Any, path: str) -> Iterator[Cause]:
    """Check that every CEL rule compiles."""
    if not isinstance(schema, dict):
        return
    for at, rule in enumerate(schema.get("x-kubernetes-validations") or []):
        yield from _compiled(rule.get("rule"), f"{path}.x-kubernetes-validations[{at}].rule")
    for name, shape in (schema.get("properties") or {}).items():
        yield from _crd_rules(shape, f"{path}.properties[{name}]")
    yield from _crd_rules(schema.get("items"), f"{path}.items")
    yield from _crd_rules(schema.get("additionalProperties"), f"{path}.additionalProperties")


def _webhooks(obj: Obj, old: Obj | None) -> Iterator[Cause]:
    for number, webhook in enumerate(obj.get("webhooks") or ()):
        for at, condition in enumerate(webhook.get("matchConditions") or ()):
            path = f"webhooks[{number}].matchConditions[{at}].expression"
            yield from _compiled(condition.get("expression"), path)


def _compiled(expression: Any, path: str) -> Iterator[Cause]:
    try:
        compile_rule(str(expression or ""))
    except CelError as error:
        yield causes.invalid(path, expression, f"compilation failed: {error}")


_HPA = ("autoscaling", "HorizontalPodAutoscaler")
_RBAC = "rbac.authorization.k8s.io"
_RULES: dict[tuple[str, str], Callable[[Obj, Obj | None], Iterator[Cause]]] = {
    ("", "Pod"): _pod,
    ("", "ConfigMap"): _config,
    ("", "Secret"): _config,
    ("", "Service"): _service,
    ("", "Event"): _core_event,
    ("events.k8s.io", "Event"): _new_event,
    ("apps", "Deployment"): _workload,
    ("apps", "ReplicaSet"): _workload,
    ("apps", "DaemonSet"): _workload,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "Job"): _job,
    (_RBAC, "RoleBinding"): _binding,
    (_RBAC, "ClusterRoleBinding"): _binding,
    ("apiregistration.k8s.io", "APIService"): _api_service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _crd,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _webhooks,
}
