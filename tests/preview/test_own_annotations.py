"""Annotations of keda-py in a preview: what they change about schedules, and when a pause ends."""

import pytest

from keda_py.kube.resources import Obj
from tests.builders import cron, workload
from tests.preview.builders import app, dev, look, moves, the

COOLDOWN, WHEN = "keda-py.dev/cooldown", "keda-py.dev/active-when"
MOST, UNTIL = "keda-py.dev/max-replicas-per-trigger", "keda-py.dev/paused-until"
PAUSED_AT = "autoscaling.keda.sh/paused-replicas"
DAY, NOON = cron("0 8 * * *", "0 20 * * *", 5), cron("0 12 * * *", "0 13 * * *", 2)
TWO = ({**DAY, "name": "day"}, {**NOON, "name": "noon"})


def first(*triggers: Obj, days: int = 1, **annotations: str) -> list[tuple[str, int, int]]:
    """The moves of the first days, Monday first."""
    names = {"cooldown": COOLDOWN, "when": WHEN, "most": MOST, "until": UNTIL, "paused_at": PAUSED_AT}
    told = {names[key]: text for key, text in annotations.items()}
    found = moves(the("ScaledObject/app", look(app(*triggers, annotations=told or None))))
    return [one for one in found if one[0][:3] in ("Mon", "Tue", "Wed")[:days]]


def test_of_two_windows_both_have_to_be_open() -> None:
    together, alone = first(*TWO, when="all"), first(*TWO)
    assert (together[0][0], together[-1]) == ("Mon 12:00:00", ("Mon 13:05:00", 5, 0))
    assert (alone[0][0], alone[-1]) == ("Mon 08:00:00", ("Mon 20:05:00", 5, 0))


def test_no_warning_is_given_of_windows_that_are_meant_to_overlap() -> None:
    (subject,) = look(app(*TWO, annotations={WHEN: "all"})).subjects
    assert subject.findings == ()
    (subject,) = look(app(*TWO)).subjects
    assert [one.code for one in subject.findings] == ["windows-overlap"]


def test_a_window_asks_for_no_more_than_its_own_maximum() -> None:
    assert max(count for _, _, count in first(*TWO, most="day=3")) == 3
    assert max(count for _, _, count in first(*TWO)) == 5


def test_the_hpa_scales_in_before_the_cooldown_begins() -> None:
    assert first(TWO[0], cooldown="after-scale-in")[-2:] == [("Mon 20:05:00", 5, 1), ("Mon 20:10:30", 1, 0)]
    assert [one for one in first(TWO[0]) if one[0] > "Mon 19"] == [("Mon 20:05:00", 5, 0)]


@pytest.mark.parametrize("paused_at", [{}, {"paused_at": "2"}])
def test_a_pause_holds_the_count_until_its_end(paused_at: dict[str, str]) -> None:
    found = first(TWO[0], days=2, until="2026-11-24T10:00:00Z", **paused_at)
    assert [at for at, _, _ in found if at < "Tue 10"] == []
    assert found[0][1] == (2 if paused_at else 0)
    assert (found[0][2], found[-1]) == (5, ("Tue 20:05:00", 5, 0))


def test_a_pause_that_is_over_changes_nothing() -> None:
    assert first(TWO[0], until="2026-11-01T10:00:00Z") == first(TWO[0])


def test_an_environment_rules_from_the_end_of_a_pause_on() -> None:
    """Open from 08:00 to 18:00: the workload is a member of its own before, and by its ScaledObject afterwards."""
    bodies = (
        app(cron("0 0 * * *", "59 23 * * *", 2), annotations={UNTIL: "2026-11-24T20:00:00Z", PAUSED_AT: "4"}),
        workload("Deployment", "app", 4, namespace="shop"),
        dev(),
    )
    found = moves(the("ScaledObject/app", look(*bodies)))
    tuesday = [one for one in found if one[0].startswith("Tue 20")]
    assert tuesday[-1][2] == 0
    assert next(one for one in found if one[0].startswith("Wed"))[0] == "Wed 08:00:00"
