"""The picture of an environment: one lane of all its replicas, and over it its phases and what was out of the ordinary.

Pure.
"""

from collections.abc import Iterator, Sequence

from keda_py.demo.phases import Phase
from keda_py.demo.picture import Strip, draw
from keda_py.demo.play import Play
from keda_py.demo.timeline import Timeline

COLOURS = {"Asleep": "#8c959f", "Waking": "#d4a72c", "Awake": "#4a9d6e", "FallingAsleep": "#bc6c25"}
NOTES = {"override": "kept up by an Override", "contested": "a count was put back"}


def draw_environment(timeline: Timeline, phases: Sequence[Phase], play: Play) -> str:
    """Draw the picture as SVG text."""
    together = timeline.together(play.environment)
    return draw(together, [play.environment], play.zone, title=play.title, strips=list(_strips(phases)))


def _strips(phases: Sequence[Phase]) -> Iterator[Strip]:
    told = ""
    for phase in phases:
        text = NOTES.get(phase.note, phase.because) if phase.note and phase.note != told else ""
        told = phase.note
        title = f"{phase.name}: {phase.because}"
        yield Strip(at=phase.at, until=phase.until, colour=COLOURS[phase.name], title=title, text=text)
