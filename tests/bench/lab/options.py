"""What the command line says, for every bench."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.lab.figures import Row

Say = Callable[[str], None]
"""Tell the progress display what is being done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`objects` ScaledObjects that poll every `interval` seconds; `steady` seconds of watching them idle; `wakes` of
    them are woken; each row of `serve` takes `load` seconds; `sizes` are what `growth` compares; a soak lasts `minutes`.

    `kubeconfig` None: the embedded cluster. `profile`: a folder for flame graphs of the operator, one a phase.
    `pictures`: the folder of the charts. Of `environment`: how many `members`; an operator that is `running` there is
    measured, else one of ours; `imitate_kubelet` where no node runs pods. `namespaces` of `policy`. `replicas` of
    `shards`, `cycles` of `waker`.
    """

    objects: int = 500
    interval: int = 15
    steady: float = 60.0
    wakes: int = 20
    load: float = 10.0
    sizes: tuple[int, ...] = (500, 2000, 5000, 10000)
    minutes: float = 30.0
    kubeconfig: Path | None = None
    profile: Path | None = None
    pictures: Path = Path()
    members: int = 200
    running: bool = False
    imitate_kubelet: bool = False
    namespaces: int = 500
    replicas: int = 3
    cycles: int = 0


Bench = Callable[[Options, Say], AsyncGenerator[Row, None]]
"""`run` of each bench: a row of figures a phase."""
