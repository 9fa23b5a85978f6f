"""Table of our kinds: a kind is a row here, and a package of the operator that works on it.

A row provides its CustomResourceDefinition (`crds.py`), its path at the API server (`kube/resources.py`) and its
webhook (`operator/admission/paths.py`); `keda-py validate` and `keda-py migrate` read it too. The checks at
admission are a row of `core/admission/checks.py`; a kind without one is only parsed. A test compares the charts'
webhooks and rights with the table.
"""

from pydantic import BaseModel

from keda_py.apis.cloud_event_source import CloudEventSource, ClusterCloudEventSource
from keda_py.apis.kinds.environments import ENVIRONMENT_KINDS
from keda_py.apis.kinds.kind import KindRow, PrinterColumn
from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject
from keda_py.apis.trigger_authentication import ClusterTriggerAuthentication, TriggerAuthentication


def _condition(name: str) -> PrinterColumn:
    return PrinterColumn(name=name, path=f'.status.conditions[?(@.type=="{name}")].status')


_BOUNDS = (
    PrinterColumn(name="Min", path=".spec.minReplicaCount", type="integer"),
    PrinterColumn(name="Max", path=".spec.maxReplicaCount", type="integer"),
)
_TYPES_AND_AGE = (
    PrinterColumn(name="Triggers", path=".status.triggersTypes"),
    PrinterColumn(name="Authentications", path=".status.authenticationsTypes"),
    PrinterColumn(name="Age", path=".metadata.creationTimestamp", type="date"),
)
_NEXT_AND_WHY = (
    PrinterColumn(name="Next", path=".status.kedaPy.nextChange"),
    PrinterColumn(name="Why", path=".status.kedaPy.reason"),
)
"""Our columns after KEDA's; missing if KEDA's CRDs are kept. A time that lies ahead is a text: the API server prints a
date of the future as `<invalid>`.
"""
_SOURCES = (
    PrinterColumn(name="PodIdentity", path=".spec.podIdentity.provider"),
    PrinterColumn(name="Secret", path=".spec.secretTargetRef[*].name"),
    PrinterColumn(name="Env", path=".spec.env[*].name"),
)
_FILE = PrinterColumn(name="FilePath", path=".spec.filePath")
_VAULT_AND_USERS = (
    PrinterColumn(name="VaultAddress", path=".spec.hashiCorpVault.address"),
    PrinterColumn(name="ScaledObjects", path=".status.scaledobjects", priority=1),
    PrinterColumn(name="ScaledJobs", path=".status.scaledjobs", priority=1),
)

KEDA_KINDS = (
    KindRow(
        model=ScaledObject,
        webhook="vscaledobject",
        has_triggers=True,
        short_names=("so",),
        columns=(
            PrinterColumn(name="ScaleTargetKind", path=".status.scaleTargetKind"),
            PrinterColumn(name="ScaleTargetName", path=".spec.scaleTargetRef.name"),
            *_BOUNDS,
            *map(_condition, ("Ready", "Active", "Fallback", "Paused")),
            *_TYPES_AND_AGE,
            *_NEXT_AND_WHY,
        ),
    ),
    KindRow(
        model=ScaledJob,
        webhook="vscaledjob",
        has_triggers=True,
        short_names=("sj",),
        columns=(*_BOUNDS, *map(_condition, ("Ready", "Active", "Paused")), *_TYPES_AND_AGE),
    ),
    KindRow(
        model=TriggerAuthentication,
        webhook="vstriggerauthentication",
        short_names=("ta", "triggerauth"),
        columns=(*_SOURCES, *_VAULT_AND_USERS),
    ),
    KindRow(
        model=ClusterTriggerAuthentication,
        webhook="vsclustertriggerauthentication",
        scope="Cluster",
        short_names=("cta", "clustertriggerauth"),
        columns=(*_SOURCES, _FILE, *_VAULT_AND_USERS),
    ),
    KindRow(
        model=CloudEventSource,
        webhook="vcloudeventsource",
        group="eventing.keda.sh",
        columns=(_condition("Active"),),
    ),
    KindRow(
        model=ClusterCloudEventSource,
        webhook="vclustercloudeventsource",
        group="eventing.keda.sh",
        scope="Cluster",
        columns=(_condition("Active"),),
    ),
)

KINDS = (*KEDA_KINDS, *ENVIRONMENT_KINDS)


def kind_of(model: type[BaseModel]) -> KindRow:
    """Return the row whose objects the model parses."""
    return next(kind for kind in KINDS if kind.model is model)
