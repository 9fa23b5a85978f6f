"""Bodies as an API server sends them, and a reviewer that knows no neighbours."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from keda_py.core.admission.findings import Neighbourhood
from keda_py.core.spec import ScalingSpec
from keda_py.operator.admission.webhook.paths import SCALED_OBJECT
from keda_py.operator.admission.webhook.reviews import Reviewer
from keda_py.testing import shared_context

Obj = dict[str, Any]
PATH = SCALED_OBJECT.path
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
CRON = {
    "type": "cron",
    "metadata": {"timezone": "UTC", "start": "0 8 * * *", "end": "0 9 * * *", "desiredReplicas": "1"},
}


def scaled_object(**spec: Any) -> Obj:
    body = {"scaleTargetRef": {"name": "web"}, "triggers": [CRON], **spec}
    meta = {"name": "so", "namespace": "default"}
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": meta, "spec": body}


def request(obj: Any, **fields: Any) -> Obj:
    return {"uid": UID, "operation": "CREATE", "namespace": "default", "object": obj, **fields}


def review(obj: Any, **fields: Any) -> bytes:
    envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(obj, **fields)}
    return orjson.dumps(envelope)


async def nobody(_: ScalingSpec) -> Neighbourhood:
    return Neighbourhood()


@asynccontextmanager
async def a_reviewer(*namespaces: str) -> AsyncIterator[Reviewer]:
    async with shared_context() as lent:
        yield Reviewer(lent, namespaces, nobody)
