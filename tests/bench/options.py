"""What the command line says, for every bench."""

from collections.abc import Callable
from dataclasses import dataclass

Say = Callable[[str], None]
"""Tell the progress display what is being done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`objects` ScaledObjects that poll every `interval` seconds; `steady` seconds of watching them idle; `wakes` of
    them are woken; each row of `serve` takes `load` seconds. An Environment has so many `members`, on the cluster of
    `kubeconfig`, "" for an embedded one."""

    objects: int = 500
    interval: int = 15
    steady: float = 60.0
    wakes: int = 20
    load: float = 10.0
    members: int = 200
    kubeconfig: str = ""
    imitate_kubelet: bool = False
