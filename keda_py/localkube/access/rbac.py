"""The authoriser: finds the Role or ClusterRole that allows a request.

It evaluates the stored roles and bindings as RBAC does; `system:masters` may do everything. Access reviews always ask
it, the routes if the cluster enforces RBAC. A decision names the rule that allowed the request: the routes log it,
which shows whether a chart's roles fit what its operator does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from keda_py.localkube.model.calls import User
from keda_py.localkube.store.store import Store
from keda_py.localkube.store.subscriptions import Event
from keda_py.schema.resources import Obj

GROUP = "rbac.authorization.k8s.io"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """The access that a request needs: a verb on a resource, or on a non-resource path."""

    verb: str
    namespace: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """Resource and subresource as rules write them: `deployments/scale`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The rule that allowed a request: `rule` is its index in the role, `resource` the matching entry of the rule."""

    role: str
    rule: int
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDecision:
    """Whether a request is allowed, with the reason in the real authoriser's words."""

    allowed: bool
    reason: str = ""
    grant: Grant | None = None


class Authorizer:
    """Evaluates the roles and bindings of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._bindings: list[tuple[Obj, str]] | None = None
        store.listen(self._follow)

    def decide(self, user: User, wanted: Attributes) -> AccessDecision:
        """Decide by the first binding that allows the access."""
        if MASTERS in user.groups:
            return AccessDecision(allowed=True)
        for binding, space in self._all_bindings():
            if space and space != wanted.namespace:
                continue
            if not any(_is_subject(subject, user, space) for subject in binding.get("subjects") or ()):
                continue
            for place, rule in enumerate(self._rules(binding, space)):
                if _allows(rule, wanted):
                    grant = Grant(role=_role(binding, space), rule=place, resource=_pattern(rule, wanted))
                    return AccessDecision(allowed=True, reason=_reason(binding, space, user), grant=grant)
        return AccessDecision(allowed=False)

    def rules_of(self, user: User, namespace: str) -> list[Obj]:
        """All rules that apply to the user in a namespace, as a SelfSubjectRulesReview lists them."""
        if MASTERS in user.groups:
            everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
            return [everything, {"verbs": ["*"], "nonResourceURLs": ["*"]}]
        return [
            rule
            for binding, space in self._all_bindings()
            if not space or space == namespace
            if any(_is_subject(subject, user, space) for subject in binding.get("subjects") or ())
            for rule in self._rules(binding, space)
        ]

    def _all_bindings(self) -> list[tuple[Obj, str]]:
        # Kept until an RBAC object changes: an enforcing cluster asks on each request, and a list sorts all bindings.
        if self._bindings is None:
            self._bindings = [
                (binding, binding["metadata"].get("namespace", ""))
                for kind in ("ClusterRoleBinding", "RoleBinding")
                for binding in self._store.list(self._store.resources.get(f"{GROUP}/v1", kind))
            ]
        return self._bindings

    def _rules(self, binding: Obj, space: str) -> Iterator[Obj]:
        reference = binding["roleRef"]
        kind = reference["kind"]
        resource = self._store.resources.get(f"{GROUP}/v1", kind)
        role = self._store.find(resource, space if kind == "Role" else "", reference["name"])
        if role is not None:
            yield from role.get("rules") or ()

    def _follow(self, event: Event) -> None:
        if event.resource.group == GROUP:
            self._bindings = None


def _is_subject(subject: Obj, user: User, space: str) -> bool:
    kind, name = subject["kind"], subject["name"]
    if kind == "Group":
        return name in user.groups
    if kind == "ServiceAccount":
        return user.name == f"system:serviceaccount:{subject.get('namespace') or space}:{name}"
    return bool(name == user.name)


def _allows(rule: Obj, wanted: Attributes) -> bool:
    if not _covers(rule.get("verbs"), wanted.verb):
        return False
    if wanted.path:
        return any(_path_fits(pattern, wanted.path) for pattern in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        _covers(rule.get("apiGroups"), wanted.group)
        and _pattern(rule, wanted) != ""
        and (not names or wanted.name in names)
    )


def _covers(values: list[str] | None, value: str) -> bool:
    return "*" in (values or ()) or value in (values or ())


def _pattern(rule: Obj, wanted: Attributes) -> str:
    """The entry of the rule's resources that matches the request; "" if none does."""
    return next((str(one) for one in rule.get("resources") or () if _resource_fits(one, wanted)), "")


def _resource_fits(pattern: str, wanted: Attributes) -> bool:
    """Match one entry of a rule's resources: `*` matches everything, `*/scale` the subresource of any resource."""
    if pattern in ("*", wanted.full_resource):
        return True
    return bool(wanted.subresource) and pattern == f"*/{wanted.subresource}"


def _path_fits(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern[:-1]))


def _role(binding: Obj, space: str) -> str:
    """Name a binding's role for the log: `ClusterRole/NAME` or `Role/NAMESPACE/NAME`."""
    kind, name = binding["roleRef"]["kind"], binding["roleRef"]["name"]
    return f"{kind}/{space}/{name}" if kind == "Role" else f"{kind}/{name}"


def _reason(binding: Obj, space: str, user: User) -> str:
    reference, metadata = binding["roleRef"], binding["metadata"]
    kind = "RoleBinding" if space else "ClusterRoleBinding"
    place = f"{metadata['name']}/{space}" if space else metadata["name"]
    role = f'{reference["kind"]} "{reference["name"]}"'
    subject = next(s for s in binding["subjects"] if _is_subject(s, user, space))
    subject_name = (
        f'{subject["kind"]} "{subject["name"]}{"/" + subject["namespace"] if subject.get("namespace") else ""}"'
    )
    return f'RBAC: allowed by {kind} "{place}" of {role} to {subject_name}'
