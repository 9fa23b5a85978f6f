"""The `matchConditions` of our webhooks: requests that the API server need not send, so that they cost no call.

An update is skipped if it changes only parts that are not judged, such as finalizers, owners or `managedFields`. All
labels and annotations are judged: an annotation changes what an object means, switches a warning off, or names the
author of an Override. Updates by the operator's ServiceAccount are skipped if it is known, as in the chart; with
--register the operator may run as the same user who writes the objects. Every creation is judged.

The failurePolicy would decide on an expression that fails, and Ignore means that the object is not judged. So each
expression tests that a field exists before it reads it, and `||` is true as soon as one side is.
"""

from keda_py.errors import KubeError
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import Obj
from keda_py.kube.transport import Request

OLDEST_MINOR = 28
"""The first minor version of Kubernetes 1 with the field and no feature gate. An older API server refuses or drops it.
"""

_JUDGED = ("spec", "metadata.labels", "metadata.annotations")


def _differs(path: str) -> str:
    new, old = f"object.{path}", f"oldObject.{path}"
    return f"has({new}) != has({old}) || (has({new}) && {new} != {old})"


_UPDATE = 'request.operation != "UPDATE"'
CHANGED = " || ".join((_UPDATE, *map(_differs, _JUDGED)))


def match_conditions(account: str = "") -> list[Obj]:
    """Return the conditions of every webhook; `account` is the operator's user name, "" if other users may share it."""
    conditions = [{"name": "judged-parts-changed", "expression": CHANGED}]
    if account:
        by_others = f'{_UPDATE} || request.userInfo.username != "{account}"'
        conditions.append({"name": "not-by-the-operator", "expression": by_others})
    return conditions


async def knows_match_conditions(client: KubeClient) -> bool:
    """Whether the API server is new enough; one without a readable version counts as too old."""
    try:
        version = await client.send(Request(method="GET", path="/version", resource="version"))
        major, minor = int(str(version.get("major"))), int(str(version.get("minor")).rstrip("+"))
    except (KubeError, ValueError):
        return False
    return (major, minor) >= (1, OLDEST_MINOR)
