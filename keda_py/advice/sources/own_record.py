"""What the operator itself has recorded of use: too little for a proposal, and this tells how much it is.

An object's status keeps its last changes: 32 at most, of the last `--decision-history`. They do not say whether an
operator ran between two of them, and a time without one is not idle. `keda_scaler_active` in a Prometheus has the same
triggers, sample by sample.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from keda_py.advice.proposals.manifest_workloads import Body
from keda_py.advice.proposals.workload import Observed, WorkloadKey
from keda_py.apis.foreign import map_at, name_of, namespace_of, text_at, value_at
from keda_py.core.advice.candidates import LEAST
from keda_py.errors import ConfigError
from keda_py.operator.decisions.history import read_history
from keda_py.terminal.times import spoken_duration

_REMEDY = "record keda_scaler_active in a Prometheus for so long, and give --prometheus URL"


def read_own_records(bodies: Iterable[Body], namespace: str, now: datetime) -> list[Observed]:
    """A sentence for each ScaledObject and each Environment with requests. Raises ConfigError without any."""
    here = [body for body in bodies if namespace in ("", namespace_of(body))]
    found = [*_scaled_objects(here, now), *_environments(here)]
    if not found:
        text = (
            f"in {namespace or 'all namespaces'} the operator has recorded nothing of use, as there is no ScaledObject"
        )
        raise ConfigError(f"{text}; give --prometheus URL or --trace FILE")
    return found


def _scaled_objects(bodies: Iterable[Body], now: datetime) -> Iterator[Observed]:
    for body in bodies:
        if body["kind"] == "ScaledObject":
            workload = WorkloadKey(namespace_of(body), "ScaledObject", name_of(body))
            yield Observed(workload=workload, problem=f"{_record(body, now)}; {_REMEDY}")


def _record(body: Body, now: datetime) -> str:
    changes = read_history(map_at(body, "status"))
    needs = f"a weekly habit needs {LEAST.days} days, sample by sample"
    if not changes:
        return f"the operator has recorded no change of it, and {needs}"
    length = max(now - datetime.fromisoformat(str(changes[0]["time"])), timedelta(0))
    weeks = f"{spoken_duration(length)} ({length / timedelta(weeks=1):.1f} weeks)"
    count = "one change" if len(changes) == 1 else f"{len(changes)} changes"
    return f"the operator's own record of it holds {count} of the last {weeks}, and {needs}"


def _environments(bodies: Iterable[Body]) -> Iterator[Observed]:
    """Wakers count requests only while an Environment sleeps: how often its hours were too short."""
    for body in bodies:
        count = value_at(body, "status", "wakeOnRequest", "wakes")
        if body["kind"] == "Environment" and isinstance(count, int) and count > 0:
            last = text_at(body, "status", "wakeOnRequest", "lastRequest", "at")
            text = f"requests woke it {count} times while it slept" + (f", the last one at {last}" if last else "")
            workload = WorkloadKey(namespace_of(body), "Environment", name_of(body))
            yield Observed(
                workload=workload, problem=f"{text}; what came while it was awake is not recorded; {_REMEDY}"
            )
