"""A trace file -> a history for each column: the files of `keda-py simulate`, in which cells may be empty here.

An empty cell, `error`, a value below 0 and a time without a row are missing data, which is not idle.
"""

import math
from array import array

from keda_py.advice.proposals.workload import Observed, read_workload
from keda_py.core.advice.history import sample_history
from keda_py.errors import ConfigError, ScalerError
from keda_py.simulation.loads.trace_file import TraceFile, TraceRules

LONGEST = 400 * 86_400.0
"""Seconds of a gap; it is no mistake of a trace here."""


def read_trace(path: str, namespace: str, unit: str) -> list[Observed]:
    """One for each column. Raises ConfigError that names the line."""
    trace = TraceFile(path=path, rules=TraceRules(longest_gap=LONGEST, gaps="hold", empty="fail"))
    workloads = [read_workload(name, namespace, f"{path}:1") for name in trace.columns]
    if len(set(workloads)) < len(workloads):
        raise ConfigError(f"{path}:1: names a workload twice; leave one column for each")
    times, columns = array("d"), [array("d") for _ in workloads]
    origin = trace.origin.timestamp()
    for at, samples in trace.rows():
        times.append(origin + at)
        for column, sample in zip(columns, samples, strict=True):
            column.append(math.nan if isinstance(sample, ScalerError) else sample)
    try:
        histories = [sample_history(times, column) for column in columns]
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return [
        Observed(workload=workload, history=history, unit=unit, source=f"column {name!r} of {path}")
        for workload, history, name in zip(workloads, histories, trace.columns, strict=True)
    ]
