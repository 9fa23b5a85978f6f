"""What the leading process has seen of one Service that is wanted: answers of wakers, and since when it is ready.

Nothing of it has to survive: a new leader asks again, and until it knows better keeps the endpoints that it finds.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from keda_py.core.waking.services import WakeService
from keda_py.core.waking.steps import Probe, Readiness
from keda_py.operator.waking.probing import ask_waker

AGAIN_SECONDS, SOON_SECONDS = 10.0, 0.25
"""Between two probes of a waker that has answered for a Service, and while something is waited for."""
PATIENCE_SECONDS = 30.0
"""After so long what is waited for is looked at every AGAIN_SECONDS."""


@dataclass(slots=True)
class _Answer:
    """`failures`: a single one may be a full accept queue, and takes nothing away. `right` is None after one failure of
    a waker that this process had not asked before: an earlier leader may have had its answer.
    """

    right: bool | None
    at: float
    failures: int = 0


@dataclass(slots=True)
class Progress:
    """Times are monotonic. `problem` is the reason why the last write failed."""

    since: float
    shown_at: float | None = None
    through: bool = False
    forwarding_at: float | None = None
    problem: str = ""
    told: tuple[object, ...] = ()
    """What its owner was told last."""
    _answers: dict[Probe, _Answer] = field(default_factory=dict)

    def answered(self, probe: Probe) -> bool | None:
        """Return whether a waker has answered rightly; None if it was not asked yet."""
        known = self._answers.get(probe)
        return None if known is None else known.right

    async def ask(self, probes: Iterable[Probe], now: float) -> None:
        """Ask those wakers that were not asked a moment ago, all at once; forget the others."""
        self._answers = {probe: self._answers[probe] for probe in probes if probe in self._answers}
        due = [probe for probe in probes if self._is_due(probe, now)]
        pods = await asyncio.gather(*(ask_waker(one.address, one.port, one.service_uid) for one in due))
        for probe, pod in zip(due, pods, strict=True):
            known, right = self._answers.get(probe), pod == probe.pod
            failures = 0 if right else 1 if known is None else known.failures + 1
            before = None if known is None else known.right
            self._answers[probe] = _Answer(True if right else before if failures < 2 else False, now, failures)

    def _is_due(self, probe: Probe, now: float) -> bool:
        known = self._answers.get(probe)
        if known is None:
            return True
        return now - known.at >= (AGAIN_SECONDS if known.right and not known.failures else SOON_SECONDS)

    def restart(self, now: float) -> None:
        """Wait anew for slices, from now on."""
        self.since, self.shown_at, self.through = now, None, False

    def show(self, now: float, *, shown: bool) -> None:
        """Note whether its slices lead to wakers."""
        if not shown:
            self.shown_at, self.through = None, False
            return
        self.problem = ""
        self.shown_at = now if self.shown_at is None else self.shown_at

    async def look_through(self, service: WakeService, pods: frozenset[str]) -> None:
        """Note whether one of these `pods` answers through the Service, once its slices lead to wakers."""
        if (shown_at := self.shown_at) is None or self.through:
            return
        port = service.ports[0].port
        asked = (ask_waker(address, port, service.uid) for address in service.addresses.values())
        answers = all(pod in pods for pod in await asyncio.gather(*asked))
        self.through = answers and self.shown_at == shown_at  # else the answer is about slices that have gone since

    def known(self, address: str) -> Probe | None:
        """Return a probe that the waker of this address has answered rightly; None without one."""
        return next((one for one, known in self._answers.items() if one.address == address and known.right), None)

    def fail(self, address: str) -> bool:
        """Take the waker of this address for dead until it answers again; return whether it was believed before."""
        failed = [one for one, known in self._answers.items() if one.address == address and known.right]
        for probe in failed:
            self._answers[probe] = _Answer(False, self._answers[probe].at, failures=1)
        return bool(failed)

    def readiness(self, now: float, wakers: int, *, known: bool) -> Readiness:
        return Readiness(
            wakers_known=known,
            wakers=wakers,
            waited=now - self.since,
            shown_for=None if self.shown_at is None else now - self.shown_at,
            through=self.through,
        )

    def pause(self, now: float) -> float:
        """Seconds until the Service is looked at again."""
        if self.forwarding_at is not None:
            return 1.0
        fails = any(one.failures or not one.right for one in self._answers.values())
        waits = self.shown_at is None or not self.through or fails
        return SOON_SECONDS if waits and now - self.since < PATIENCE_SECONDS else AGAIN_SECONDS
