"""Annotations on members that Flux applies: put on before a count goes to 0, taken off once it is given back.

Each look compares all objects of the namespace with the stages of its members, so that nothing has to be remembered: a
process that is killed between any two writes leaves only what the next look finds. An object that carries our mark and
sleeps for no Environment loses it.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from keda_py.apis.foreign import name_of
from keda_py.core.environment.decision.decision import EnvironmentDecision
from keda_py.core.environment.decision.state import EnvironmentState, Stage, key_of_workload
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.gitops.flux import change_of_annotations, is_marked
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import Conflict, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj

AT_ONCE, ATTEMPTS = 20, 5
LONGEST_ERROR = 500
_ASLEEP = (Stage.FALLING, Stage.DOWN)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FluxChange:
    """Annotations to write on one object; `key` is KIND/NAME."""

    key: str
    informer: Informer
    live: Obj
    asleep: bool


class FluxAnnotations:
    """Annotations of all Environments; `members` are the informers of workloads by kind."""

    def __init__(self, client: KubeClient, members: Mapping[str, Informer]) -> None:
        self._client, self._members = client, members
        self._errors: dict[str, str] = {}

    def tell(self, uid: str, decision: EnvironmentDecision) -> EnvironmentDecision:
        """Return the decision with the last error in its status."""
        if (error := self._errors.get(uid, "")) and not decision.status.gitops:
            return replace(decision, status=decision.status.model_copy(update={"gitops": error}))
        return decision

    async def keep(
        self, spec: EnvironmentSpec | None, decision: EnvironmentDecision, key: ObjectKey, held: Mapping[str, str]
    ) -> Mapping[str, Obj]:
        """Write what differs; return the objects that were written, as they are now, by KIND/NAME.

        `held` are the members that other Environments of the namespace remember. Members sleep all the same where a
        write fails: an Environment notices a controller that puts counts back, and leaves the member to it.
        """
        state = decision.state if spec is not None and spec.flux else EnvironmentState()
        changes = list(self._changes(key.namespace, state, held))
        at_once, written, errors = asyncio.Semaphore(AT_ONCE), dict[str, Obj](), list[str]()

        async def write(change: FluxChange) -> None:
            async with at_once:
                try:
                    written[change.key] = await self._write(change)
                except NotFound:
                    pass
                except KubeError as error:
                    errors.append(f"{change.key} is not annotated for Flux: {error}"[:LONGEST_ERROR])

        async with asyncio.TaskGroup() as tasks:
            for change in changes:
                tasks.create_task(write(change))
        if spec is not None:
            self._note(spec, min(errors, default=""))
        return written

    def _note(self, spec: EnvironmentSpec, error: str) -> None:
        if error and error != self._errors.get(spec.uid):
            fields = {"environment": f"{spec.namespace}/{spec.name}", "error": error}
            log.warning("member not annotated for flux", extra=fields)
        self._errors.pop(spec.uid, None)
        if error:
            self._errors[spec.uid] = error

    def forget(self, uid: str) -> None:
        """Drop what is known of an Environment."""
        self._errors.pop(uid, None)

    def _changes(self, namespace: str, state: EnvironmentState, held: Mapping[str, str]) -> Iterator[FluxChange]:
        asleep = set(_asleep_keys(state))
        for kind, informer in self._members.items():
            for live in informer.objects(namespace):
                key = f"{kind}/{name_of(live)}"
                if key not in asleep and (not is_marked(live) or key in held):
                    continue
                if change_of_annotations(live, asleep=key in asleep) is not None:
                    yield FluxChange(key, informer, live, key in asleep)

    async def _write(self, change: FluxChange) -> Obj:
        """Patch over the version that was read, so that an annotation of a person is not taken for ours."""
        live = change.live
        path = change.informer.spec.resource.named(live["metadata"]["namespace"], live["metadata"]["name"])
        for attempt in range(ATTEMPTS):
            annotations = change_of_annotations(live, asleep=change.asleep)
            if annotations is None:
                return live
            try:
                meta = {"resourceVersion": live["metadata"]["resourceVersion"], "annotations": annotations}
                answer = await self._client.patch(path, {"metadata": meta})
            except Conflict:
                if attempt == ATTEMPTS - 1:
                    raise
                live = await self._client.get(path)
                continue
            fields = {"namespace": path.namespace, "member": change.key, "asleep": change.asleep}
            log.info("annotations for flux changed", extra=fields)
            return answer
        return live


def _asleep_keys(state: EnvironmentState) -> Iterator[str]:
    """Yield KIND/NAME of what sleeps; of a ScaledObject that of its workload."""
    for key, member in state.members.items():
        if member.stage in _ASLEEP:
            yield key_of_workload(member.workload) if member.workload else key
