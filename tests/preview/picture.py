"""README's picture of a preview. `python -m tests.preview.picture` draws it."""

from datetime import UTC, datetime, timedelta

from keda_py.core.cron.zones import load_zone
from keda_py.preview.command import read_sources
from keda_py.preview.pages.svg import svg_of
from keda_py.replay.previews import preview
from keda_py.replay.reading.manifests import read_plans
from tests.places import ROOT

FOLDER = "examples/nightly-scale-down"
PICTURE = f"{FOLDER}/preview.svg"
_MANIFESTS = ("develop", "release", "production")
_BEGINS = datetime(2026, 11, 22, 15, tzinfo=UTC)
"""Monday in Seoul."""


def draw() -> bytes:
    """The week of the example's environments."""
    texts = {name: (ROOT / FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in _MANIFESTS}
    ends = _BEGINS + timedelta(days=7)
    sources, _ = read_sources(texts)
    return svg_of(preview(read_plans(sources, _BEGINS, ends), _BEGINS, ends), load_zone("Asia/Seoul"))


if __name__ == "__main__":
    (ROOT / PICTURE).write_bytes(draw())
