"""The webhooks that we answer, one path a kind of `apis/kinds/table.py`. Behaviour reference, section 12."""

from dataclasses import dataclass

from keda_py.apis.kinds.kind import VERSION, KindRow
from keda_py.apis.kinds.table import KINDS, kind_of
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject
from keda_py.apis.trigger_authentication import ClusterTriggerAuthentication, TriggerAuthentication


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """One entry of the ValidatingWebhookConfiguration."""

    name: str
    path: str
    group: str
    plural: str


def webhook_of(kind: KindRow) -> Webhook:
    """The entry of a kind that is admitted."""
    prefix = "/validate-" + kind.group.replace(".", "-")
    return Webhook(
        name=f"{kind.webhook}.kb.io",
        path=f"{prefix}-{VERSION}-{kind.singular}",
        group=kind.group,
        plural=kind.plural,
    )


ADMITTED = tuple(kind for kind in KINDS if kind.webhook)
WEBHOOKS = tuple(map(webhook_of, ADMITTED))
KINDS_BY_PATH = {webhook_of(kind).path: kind.name for kind in ADMITTED}
SCALED_OBJECT = webhook_of(kind_of(ScaledObject))
SCALED_JOB = webhook_of(kind_of(ScaledJob))
AUTHENTICATION = webhook_of(kind_of(TriggerAuthentication))
CLUSTER_AUTHENTICATION = webhook_of(kind_of(ClusterTriggerAuthentication))
