"""The authoriser: which Role or ClusterRole allows a request, if any.

Evaluates the stored roles and bindings as RBAC does; `system:masters` may do everything. Asked by the access reviews
always, by the routes when the cluster enforces RBAC. A verdict says which rule of which role allowed the request: the
routes log it, which shows whether a chart's roles fit what its operator does.
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
    """What a request wants: a verb on a resource, or on a non-resource path."""

    verb: str
    namespace: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """`deployments/scale`, as rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The part of a role that allowed a request: a rule by its place in the role, a resource as that rule writes it."""

    role: str
    rule: int
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDecision:
    """Allowed or not, and why: the reason is the real authoriser's."""

    allowed: bool
    reason: str = ""
    grant: Grant | None = None


class Authorizer:
    """RBAC over the roles and bindings of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._bindings: list[tuple[Obj, str]] | None = None
        store.listen(self._follow)

    def decide(self, user: User, wanted: Attributes) -> AccessDecision:
        """Whether the user may, by the first binding that says so."""
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
        """Every rule that applies to the user in a namespace."""
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
    """The entry of the rule's resources that the request fits; "" for none."""
    return next((str(one) for one in rule.get("resources") or () if _resource_fits(one, wanted)), "")


def _resource_fits(pattern: str, wanted: Attributes) -> bool:
    """`*` is everything; `*/scale` is the subresource of anything."""
    if pattern in ("*", wanted.full_resource):
        return True
    return bool(wanted.subresource) and pattern == f"*/{wanted.subresource}"


def _path_fits(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern[:-1]))


def _role(binding: Obj, space: str) -> str:
    """The role as `ClusterRole/NAME` or `Role/NAMESPACE/NAME`."""
    kind, name = binding["roleRef"]["kind"], binding["roleRef"]["name"]
    return f"{kind}/{space}/{name}" if kind == "Role" else f"{kind}/{name}"


def _reason(binding: Obj, space: str, user: User) -> str:
    reference, metadata = binding["roleRef"], binding["metadata"]
    kind = "RoleBinding" if space else "ClusterRoleBinding"
    place = f"{metadata['name']}/{space}" if space else metadata["name"]
    role = f'{reference["kind"]} "{reference["name"]}"'
    subject = next(s for s in binding["subjects"] if _is_subject(s, user, space))
    who = f'{subject["kind"]} "{subject["name"]}{"/" + subject["namespace"] if subject.get("namespace") else ""}"'
    return f'RBAC: allowed by {kind} "{place}" of {role} to {who}'
