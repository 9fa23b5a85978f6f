"""Authorisation of requests, called before anything answers them.

If RBAC is not enforced, every request is allowed; impersonation works either way. The rule that allowed a request is
logged, so that a chart's roles can be compared with what its operator does.
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
    """Authorises requests by the stored roles; without `enforced` only access reviews use them."""

    identity: Identity
    authorizer: Authorizer
    enforced: bool = False

    def check(self, call: Call, wanted: Attributes) -> None:
        """Raise StatusError 403 unless a role allows the request."""
        if not self.enforced:
            return
        decision = self.authorizer.decide(call.user, wanted)
        if decision.allowed:
            _log_grant(call, wanted, decision)
            return
        where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
        what = f'"{wanted.full_resource}" in API group "{wanted.group}" {where}'
        text = f'User "{call.user.name}" cannot {wanted.verb} resource {what}'
        raise forbidden(wanted.group, wanted.resource, wanted.name, text)

    def check_path(self, call: Call) -> None:
        """Raise StatusError 403 unless a role allows the non-resource path."""
        wanted = Attributes(verb=call.method.lower(), path=call.path)
        if self.enforced and not self.authorizer.decide(call.user, wanted).allowed:
            message = f'forbidden: User "{call.user.name}" cannot {wanted.verb} path "{call.path}"'
            raise StatusError(403, "Forbidden", message, {})

    def check_aggregated(self, call: Call, group: str, rest: list[str]) -> None:
        """Check a request for an aggregated API, whose resource is known from the path after the version alone."""
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
        """The request as the user of `kubectl --as`. Raises StatusError 403 for a caller that may not impersonate."""
        name = call.headers.get("impersonate-user", "")
        if not name:
            return call
        self.check(call, Attributes(verb="impersonate", resource="users", name=name))
        groups = tuple(filter(None, call.headers.get("impersonate-group", "").split(",")))
        return replace(call, user=impersonated(name, groups))


def _log_grant(call: Call, wanted: Attributes, decision: AccessDecision) -> None:
    """Log the role, the rule and the resource as the rule writes it; administrators have no grant to log."""
    if decision.grant is None:
        return
    who_fields = {"user": call.user.name, "verb": wanted.verb, "reason": decision.reason}
    fields = {"namespace": wanted.namespace, "resource": wanted.full_resource}
    by = {"role": decision.grant.role, "rule": decision.grant.rule, "rule_resource": decision.grant.resource}
    _log.debug("request allowed", extra=who_fields | fields | by)


def attributes_of(target: RequestTarget, verb: str, call: Call) -> Attributes:
    """Describe a request for the authoriser; a list that selects one object by name counts as that object."""
    resource, name = target.resource, target.name
    # As in the real server: so resourceNames in a role can allow a watch of one Secret.
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
    """Map a method and a path to the API's verb."""
    verb = _VERBS.get(call.method, "")
    if name or verb not in ("get", "delete"):
        is_watch = verb == "get" and not subresource and call.flag("watch")
        return "watch" if is_watch else verb
    if verb == "delete":
        return "deletecollection"
    return "watch" if call.flag("watch") else "list"
