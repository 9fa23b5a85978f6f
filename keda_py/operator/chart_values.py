"""Which value of charts/keda-py gives the operator a right that it lacks.

The API server's refusal says which right is missing; the remedy goes behind it, into conditions, Events and logs. A
right that every installation gives has no remedy here.
"""

_VALUES = {
    "jobs": "permissions.operator.scaledJobs",
    "pods": "permissions.operator.kubernetesWorkload, and for Jobs permissions.operator.scaledJobs,",
    "serviceaccounts": "permissions.operator.podIdentities",
    "serviceaccounts/token": "permissions.operator.restrict.serviceAccountTokenCreationRoles",
    "configmaps": "permissions.operator.restrict.configMapNamesAllowList",
    "secrets": "permissions.operator.restrict.namesAllowList or permissions.operator.restrict.secret",
    "cronjobs": "environments.enabled",
}
_SCALE = "rbac.scaledRefKinds"


def remedy_for(resource: str) -> str:
    """What gives a right to the resource, "" where no value does; `resource` may have a subresource behind a slash."""
    value = _VALUES.get(resource) or (_SCALE if resource.endswith("/scale") else "")
    return f"in charts/keda-py the value {value} gives this right" if value else ""
