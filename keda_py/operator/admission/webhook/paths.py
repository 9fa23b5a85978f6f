"""The webhooks that we answer, one path a kind. Behaviour reference, section 12."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """One entry of the ValidatingWebhookConfiguration."""

    name: str
    path: str
    group: str
    plural: str


def _webhook(kind: str, group: str, name: str) -> Webhook:
    prefix = "/validate-" + group.replace(".", "-")
    return Webhook(name=f"{name}.kb.io", path=f"{prefix}-v1alpha1-{kind}", group=group, plural=f"{kind}s")


SCALED_OBJECT = _webhook("scaledobject", "keda.sh", "vscaledobject")
SCALED_JOB = _webhook("scaledjob", "keda.sh", "vscaledjob")
AUTHENTICATION = _webhook("triggerauthentication", "keda.sh", "vstriggerauthentication")
CLUSTER_AUTHENTICATION = _webhook("clustertriggerauthentication", "keda.sh", "vsclustertriggerauthentication")
EVENT_SOURCE = _webhook("cloudeventsource", "eventing.keda.sh", "vcloudeventsource")
CLUSTER_EVENT_SOURCE = _webhook("clustercloudeventsource", "eventing.keda.sh", "vclustercloudeventsource")
WEBHOOKS = (
    SCALED_OBJECT,
    SCALED_JOB,
    AUTHENTICATION,
    CLUSTER_AUTHENTICATION,
    EVENT_SOURCE,
    CLUSTER_EVENT_SOURCE,
)
