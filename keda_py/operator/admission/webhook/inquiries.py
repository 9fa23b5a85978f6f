"""What the webhook process asks the operator about an object, and how it reads the answer.

Each question has a number and a time-out. The operator's side is `../related_objects.py`; both sides speak plain JSON,
and the answer is parsed here, off the operator's loop.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from keda_py.apis.foreign import Obj
from keda_py.apis.parsing import parse_object
from keda_py.core.admission.findings import Neighbourhood, Rival
from keda_py.core.admission.resources import reads_containers
from keda_py.core.defaults.layers import Layers
from keda_py.core.spec import ScalingSpec, TargetSpec
from keda_py.errors import ConfigError, Unavailable
from keda_py.operator.admission.webhook.link import Link, Message

if TYPE_CHECKING:
    from keda_py.apis.environments.environment import Environment
    from keda_py.core.meaning.surroundings import Surroundings

M = TypeVar("M", bound=BaseModel)


def question(spec: ScalingSpec) -> Obj:
    """What to tell about: what shares the target or the HPA's name, and the target's containers if they are read."""
    target = spec.target
    return {
        "namespace": spec.namespace,
        "apiVersion": target.api_version,
        "kind": target.kind,
        "name": target.name,
        "hpa": spec.hpa_name,
        "containers": reads_containers(spec),
    }


def read_neighbourhood(answer: Obj) -> Neighbourhood:
    """The neighbours; one made by another client that cannot be read must not decide over ours."""
    hpas, containers, limit_ranges = answer["hpas"], answer["containers"], answer["limitRanges"]
    rivals, defaults = tuple(_rivals(answer["rivals"])), _layers(answer["defaults"])
    if not (hpas or containers or limit_ranges):  # the models are not needed, which take 0.2 MB
        limits, without = None if limit_ranges is None else (), None if containers is None else ()
        return Neighbourhood(rivals=rivals, limit_ranges=limits, containers=without, defaults=defaults)
    from keda_py.apis.workloads import Container, HorizontalPodAutoscaler, LimitRange

    return Neighbourhood(
        rivals=rivals,
        hpas=_parsed(HorizontalPodAutoscaler, hpas),
        limit_ranges=None if limit_ranges is None else _parsed(LimitRange, limit_ranges),
        containers=None if containers is None else _parsed(Container, containers),
        defaults=defaults,
    )


def _layers(bodies: Sequence[Obj]) -> Layers:
    if not bodies:
        return ()
    from keda_py.core.defaults.building import layer_of_wire

    return tuple(map(layer_of_wire, bodies))


def _rivals(bodies: Sequence[Obj]) -> Iterator[Rival]:
    for body in bodies:
        target = TargetSpec(
            name=body["target"],
            api_version=body["apiVersion"] or "apps/v1",
            kind=body["kind"] or "Deployment",
            container="",
        )
        yield Rival(name=body["name"], target=target, hpa_name=body["hpa"])


def _parsed(model: type[M], bodies: Sequence[Any]) -> tuple[M, ...]:
    found = []
    for body in bodies:
        try:
            found.append(parse_object(model, body))
        except ConfigError:
            continue
    return tuple(found)


PATIENCE_SECONDS = 7.0
"""The operator's loop may be busy; the API server waits for 10 s."""


class Inquiries:
    """Questions to the operator; the link calls `settle` with each answer."""

    def __init__(self, link: Link) -> None:
        self._link, self._numbers = link, count(1)
        self._open: dict[int, asyncio.Future[Message]] = {}

    async def around(self, spec: ScalingSpec) -> Neighbourhood:
        """The neighbours of a ScaledObject. Raises Unavailable when the operator does not know or does not say."""
        return read_neighbourhood(await self._ask(question(spec)))

    async def overrides_of(self, namespace: str) -> tuple[datetime, int]:
        """The operator's time, and how many Overrides of a namespace have not ended. Raises Unavailable."""
        answer = await self._ask({"overridesOf": namespace})
        return datetime.fromisoformat(answer["now"]), int(answer["overrides"])

    async def defaults_of(self, namespace: str) -> Layers:
        """The defaults of a namespace. Raises Unavailable."""
        return _layers((await self._ask({"defaultsOf": namespace}))["defaults"])

    async def around_environment(self, environment: "Environment") -> "Surroundings":
        """The CronJobs of its namespace, and the calendar that it names. Raises Unavailable."""
        from keda_py.apis.environments.calendar import CalendarSpec
        from keda_py.core.admission.environments import created_some_time
        from keda_py.core.environment.spec import build_environment
        from keda_py.core.meaning.surroundings import Surroundings

        reference, spec = environment.spec.calendar_ref, build_environment(created_some_time(environment))
        asked = {
            "environmentOf": environment.metadata.namespace,
            "name": environment.metadata.name,
            "calendar": {"kind": reference.kind if reference else "", "name": reference.name if reference else ""},
            "labels": sorted(set(spec.label_keys())),
        }
        answer = await self._ask(asked)
        found = () if answer["calendar"] is None else _parsed(CalendarSpec, (answer["calendar"],))
        return Surroundings(
            now=datetime.fromisoformat(answer["now"]),
            jobs=tuple(answer["jobs"]),
            calendar=next(iter(found), None),
            calendars=answer["calendars"],
        )

    async def _ask(self, what: Message) -> Message:
        number = next(self._numbers)
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            if not self._link.tell({"ask": number, **what}):
                raise Unavailable("the operator does not listen")
            async with asyncio.timeout(PATIENCE_SECONDS):
                reply = await answer
        except TimeoutError:
            raise Unavailable(f"the operator has not answered within {PATIENCE_SECONDS:g} s") from None
        finally:
            del self._open[number]
        if error := reply.get("error"):
            raise Unavailable(str(error))
        around: Message = reply["around"]
        return around

    def settle(self, message: Message) -> None:
        """An answer has come; its caller may have stopped waiting."""
        waiting = self._open.get(message["answer"])
        if waiting is not None and not waiting.done():
            waiting.set_result(message)
