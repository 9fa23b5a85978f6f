"""`matchConditions` of our webhooks: what the API server need not ask about, so that it costs no call.

An update of nothing that is judged is passed over: a finalizer, an owner, `managedFields`. All labels and annotations
count: an annotation changes what an object means, switches a warning off, or names the author of an Override. An update
by the operator's ServiceAccount is passed over where that is known, as the chart knows it; with --register the operator
may be the very user who writes the objects. What is created is always judged.

An expression that fails would be decided by failurePolicy, and for Ignore that means not judged. So none of these reads
a field before it is known to be there, and `||` is true as soon as one side is.
"""

from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import Obj
from keda_py.kube.transport import Request

OLDEST_MINOR = 28
"""Of Kubernetes 1: the first with the field unless a feature gate is set. An older API server refuses or drops it."""

_JUDGED = ("spec", "metadata.labels", "metadata.annotations")


def _differs(path: str) -> str:
    new, old = f"object.{path}", f"oldObject.{path}"
    return f"has({new}) != has({old}) || (has({new}) && {new} != {old})"


_UPDATE = 'request.operation != "UPDATE"'
CHANGED = " || ".join((_UPDATE, *map(_differs, _JUDGED)))


def match_conditions(account: str = "") -> list[Obj]:
    """For each webhook; `account` is the user name of the operator, "" where that may be the user of others as well."""
    conditions = [{"name": "judged-parts-changed", "expression": CHANGED}]
    if account:
        by_others = f'{_UPDATE} || request.userInfo.username != "{account}"'
        conditions.append({"name": "not-by-the-operator", "expression": by_others})
    return conditions


async def knows_match_conditions(client: KubeClient) -> bool:
    """Whether the API server is new enough; one that does not say is taken for an older one."""
    try:
        told = await client.send(Request(method="GET", path="/version", resource="version"))
        major, minor = int(str(told.get("major"))), int(str(told.get("minor")).rstrip("+"))
    except (KubeError, ValueError):
        return False
    return (major, minor) >= (1, OLDEST_MINOR)
