"""Bodies as an API server sends them, and a reviewer that knows no neighbours."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import orjson

from keda_py.apis.environments.environment import Environment
from keda_py.core.admission.findings import Neighbourhood
from keda_py.core.defaults.layers import Layers
from keda_py.core.meaning.surroundings import Surroundings
from keda_py.core.spec import ScalingSpec
from keda_py.kube.resources import Obj
from keda_py.operator.admission.paths import KINDS_BY_PATH, SCALED_OBJECT
from keda_py.operator.admission.webhook.judges import Judges
from keda_py.operator.admission.webhook.reviews import Reviewer
from keda_py.testing import shared_context
from tests.builders import bare_scaled_object, cron

PATH = SCALED_OBJECT.path
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
CRON = cron()


def written(**spec: Any) -> Obj:
    return bare_scaled_object(name="so", namespace="default", **{"scaleTargetRef": {"name": "web"}, **spec})


def request(obj: Any, **fields: Any) -> Obj:
    return {"uid": UID, "operation": "CREATE", "namespace": "default", "object": obj, **fields}


def review(obj: Any, **fields: Any) -> bytes:
    envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(obj, **fields)}
    return orjson.dumps(envelope)


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Alone:
    """An operator whose cluster holds nothing but defaults."""

    def __init__(self, layers: Layers = ()) -> None:
        self._layers = layers

    async def around(self, spec: ScalingSpec) -> Neighbourhood:
        return Neighbourhood(defaults=self._layers)

    async def defaults_of(self, namespace: str) -> Layers:
        return self._layers

    async def around_environment(self, environment: Environment) -> Surroundings:
        return Surroundings(now=NOW)

    async def overrides_of(self, namespace: str) -> tuple[datetime, int]:
        return NOW, 0


@asynccontextmanager
async def a_reviewer(*namespaces: str, layers: Layers = ()) -> AsyncIterator[Reviewer]:
    async with shared_context() as lent:
        yield Reviewer(Judges(lent, Alone(layers)), KINDS_BY_PATH, namespaces)
