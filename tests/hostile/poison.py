"""An installed distribution with a scaler that does harm to its process, as a bug in a native library would."""

from pathlib import Path

SCALER = """
import ctypes
import re

from keda_py.sdk.scaler import Reading, Scaler, TriggerMetadata


class PoisonMetadata(TriggerMetadata):
    harm: str = ""
    value: float = 1.0


class PoisonScaler(Scaler[PoisonMetadata]):
    metric_name = "poison"
    target = 1.0
    activation = 0.0

    async def read(self) -> Reading:
        if self.metadata.harm == "fault":
            ctypes.string_at(0)
        if self.metadata.harm == "hang":
            while True:
                pass
        if self.metadata.harm == "native hang":
            re.match("(a+)+$", "a" * 64 + "b")
        return Reading(value=self.metadata.value)
"""


def install(folder: Path) -> dict[str, str]:
    """Put it into a folder; the environment of a process that finds it there."""
    info = folder / "poison_scalers-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: poison-scalers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[keda_py.scalers]\npoison = poison_scaler:PoisonScaler\n")
    (folder / "poison_scaler.py").write_text(SCALER)
    return {"PYTHONPATH": str(folder)}
