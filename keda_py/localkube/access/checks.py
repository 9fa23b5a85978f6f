"""May this caller do that? Every request is asked here before anything answers it.

Where RBAC is not enforced everybody may do everything; impersonation works either way. Which rule of which role
allowed a request is logged, so that a chart's roles can be compared with what its operator does.
"""

import logging
from dataclasses import dataclass, replace

from keda_py.localkube.access.identity import Identity, impersonated
from keda_py.localkube.access.rbac import AccessDecision, Attributes, Authorizer
from keda_py.localkube.model.calls import Call, RequestTarget
from keda_py.localkube.model.selectors import FieldSelector
from keda_py.schema.status import StatusError, forbidden

_log = logging.getLogger(__name__)

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may do what; without `enforced` access reviews still tell the truth."""

    identity: Identity
    authorizer: Authorizer
    enforced: bool = False

    def check(self, call: Call, wanted: Attributes) -> None:
        """StatusError 403 unless a role allows it."""
        if not self.enforced:
            return
        verdict = self.authorizer.decide(call.user, wanted)
        if verdict.allowed:
            _log_grant(call, wanted, verdict)
            return
        where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
        what = f'"{wanted.full_resource}" in API group "{wanted.group}" {where}'
        text = f'User "{call.user.name}" cannot {wanted.verb} resource {what}'
        raise forbidden(wanted.group, wanted.resource, wanted.name, text)

    def check_path(self, call: Call) -> None:
        """The same for a path that is no resource."""
        wanted = Attributes(verb=call.method.lower(), path=call.path)
        if self.enforced and not self.authorizer.decide(call.user, wanted).allowed:
            message = f'forbidden: User "{call.user.name}" cannot {wanted.verb} path "{call.path}"'
            raise StatusError(403, "Forbidden", message, {})

    def check_aggregated(self, call: Call, group: str, rest: list[str]) -> None:
        """The same for another server's resources: they are known by the path after the version alone."""
        if not rest:
            self.check_path(call)
            return
        namespaced = rest[0] == "namespaces" and len(rest) > 2
        namespace, parts = (rest[1], rest[2:]) if namespaced else ("", rest)
        resource, name, subresource = (*parts, "", "")[:3]
        self.check(
            call,
            Attributes(
                verb=verb_of(call, name, subresource),
                namespace=namespace,
                group=group,
                resource=resource,
                subresource=subresource,
                name=name,
            ),
        )

    def impersonated(self, call: Call) -> Call:
        """`kubectl --as`: the request of another user, by callers that may; StatusError 403."""
        name = call.headers.get("impersonate-user", "")
        if not name:
            return call
        self.check(call, Attributes(verb="impersonate", resource="users", name=name))
        groups = tuple(filter(None, call.headers.get("impersonate-group", "").split(",")))
        return replace(call, user=impersonated(name, groups))


def _log_grant(call: Call, wanted: Attributes, verdict: AccessDecision) -> None:
    """Which role allowed it, by which rule, and the resource as that rule names it; nothing for administrators."""
    if verdict.grant is None:
        return
    who = {"user": call.user.name, "verb": wanted.verb, "reason": verdict.reason}
    asked = {"namespace": wanted.namespace, "resource": wanted.full_resource}
    by = {"role": verdict.grant.role, "rule": verdict.grant.rule, "rule_resource": verdict.grant.resource}
    _log.debug("request allowed", extra=who | asked | by)


def attributes_of(target: RequestTarget, verb: str, call: Call) -> Attributes:
    """What the authoriser is asked about a request; a list of one object by name is about that object."""
    resource, name = target.resource, target.name
    if not name and verb in ("list", "watch", "deletecollection"):
        name = FieldSelector.parse(call.query.get("fieldSelector", "")).equal_to("metadata.name") or ""
    return Attributes(
        verb=verb,
        namespace=target.namespace,
        group=resource.group,
        resource=resource.plural,
        subresource=target.subresource,
        name=name,
    )


def verb_of(call: Call, name: str, subresource: str) -> str:
    """The API's verb for a method on a path."""
    verb = _VERBS.get(call.method, "")
    if name or verb not in ("get", "delete"):
        is_watch = verb == "get" and not subresource and call.flag("watch")
        return "watch" if is_watch else verb
    if verb == "delete":
        return "deletecollection"
    return "watch" if call.flag("watch") else "list"
