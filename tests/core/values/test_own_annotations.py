"""Annotations of keda-py: what each value asks for, and that no value is taken for another."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keda_py.apis.scaled_job import ScaledJob
from keda_py.apis.scaled_object import ScaledObject
from keda_py.core.environment.decision.members import OverlayAsleep
from keda_py.core.environment.scaling.overlays import lay_over
from keda_py.core.jobs.spec import JobScalingSpec, build_job_spec
from keda_py.core.spec import ScalingSpec, build_spec, without_ended_pause
from keda_py.core.values.own_annotations import OF_SCALED_JOBS, OF_SCALED_OBJECTS, is_stopped
from keda_py.errors import ConfigError

COOLDOWN, WHEN = "keda-py.dev/cooldown", "keda-py.dev/active-when"
MOST, JOBS, UNTIL = (
    "keda-py.dev/max-replicas-per-trigger",
    "keda-py.dev/namespace-max-jobs",
    "keda-py.dev/paused-until",
)
PAUSED, PAUSED_AT, PAUSED_IN = (
    f"autoscaling.keda.sh/{name}" for name in ("paused", "paused-replicas", "paused-scale-in")
)
END = datetime(2026, 11, 26, 7, 0, tzinfo=UTC)
END_TEXT = "2026-11-26T08:00:00+01:00"
TRIGGERS = [
    {"type": "redis", "name": "queue", "metadata": {}},
    {"type": "cron", "name": "office", "metadata": {}},
    {"type": "cpu", "name": "load", "metadata": {}},
    {"type": "redis", "name": "whole", "metricType": "Value", "metadata": {}},
]
FORMULA = {"advanced": {"scalingModifiers": {"formula": "queue", "target": "1"}}}


def spec_of(annotations: dict[str, str], triggers: list[dict[str, Any]] | None = None, **spec: Any) -> ScalingSpec:
    body = {"scaleTargetRef": {"name": "app"}, "triggers": TRIGGERS if triggers is None else triggers, **spec}
    meta = {"name": "app", "namespace": "shop", "annotations": annotations}
    return build_spec(ScaledObject.model_validate({"metadata": meta, "spec": body}))


def job_spec_of(annotations: dict[str, str], triggers: list[dict[str, Any]] | None = None) -> JobScalingSpec:
    body = {"jobTargetRef": {"template": {}}, "triggers": TRIGGERS if triggers is None else triggers}
    meta = {"name": "work", "namespace": "shop", "annotations": annotations}
    return build_job_spec(ScaledJob.model_validate({"metadata": meta, "spec": body}))


def test_without_annotations_all_is_as_kedas() -> None:
    spec = spec_of({})
    assert (spec.after_scale_in, spec.needs_all, dict(spec.most_per_trigger), spec.pause.until) == (
        False,
        False,
        {},
        None,
    )
    job = job_spec_of({})
    assert (job.needs_all, job.most_jobs, job.pause.stopped) == (False, None, False)


def test_the_words_of_the_defaults_change_nothing() -> None:
    assert spec_of({COOLDOWN: "after-activity", WHEN: "any"}).needs_all is False
    assert spec_of({COOLDOWN: "after-activity", WHEN: "any"}).after_scale_in is False


def test_each_annotation_asks_for_what_it_says() -> None:
    spec = spec_of({COOLDOWN: "after-scale-in", WHEN: "all", MOST: "queue=20, office=3"})
    assert (spec.after_scale_in, spec.needs_all, dict(spec.most_per_trigger)) == (True, True, {0: 20, 1: 3})
    job = job_spec_of({WHEN: "all", JOBS: "8"})
    assert (job.needs_all, job.most_jobs) == (True, 8)


WRONG = [
    ({COOLDOWN: "yes"}, {}, COOLDOWN, '"yes" is unknown; write "after-scale-in" or "after-activity"'),
    ({COOLDOWN: ""}, {}, COOLDOWN, 'write "after-scale-in"'),
    ({WHEN: "ALL"}, {}, WHEN, '"ALL" is unknown; write "all" or "any"'),
    ({WHEN: "all"}, FORMULA, WHEN, "whose formula decides; remove one of them"),
    ({WHEN: "all"}, {"triggers": TRIGGERS[:1]}, WHEN, "needs two triggers besides cpu and memory"),
    ({WHEN: "all"}, {"triggers": [TRIGGERS[0], TRIGGERS[2]]}, WHEN, "needs two triggers besides cpu and memory"),
    ({MOST: "queue"}, {}, MOST, '"queue" is not NAME=REPLICAS'),
    ({MOST: ""}, {}, MOST, '"" is not NAME=REPLICAS'),
    ({MOST: "queue=20,"}, {}, MOST, '"" is not NAME=REPLICAS'),
    ({MOST: "queu=20"}, {}, MOST, 'no trigger has the name "queu"; there are queue, office, load, whole'),
    ({MOST: "queue=20"}, {"triggers": [{"type": "redis", "metadata": {}}]}, MOST, "give it one: spec.triggers[].name"),
    ({MOST: "queue=0"}, {}, MOST, '"0" is not a whole number from 1'),
    ({MOST: "queue=-1"}, {}, MOST, '"-1" is not a whole number from 1'),
    ({MOST: "queue=2.5"}, {}, MOST, '"2.5" is not a whole number from 1'),
    ({MOST: "queue=99999999999"}, {}, MOST, '"99999999999" is not a whole number from 1'),
    ({MOST: "queue=²"}, {}, MOST, '"²" is not a whole number from 1'),
    ({MOST: "queue=2,queue=3"}, {}, MOST, 'trigger "queue" has two counts'),
    ({MOST: "load=2"}, {}, MOST, "which the HPA reads by itself; use maxReplicaCount"),
    ({MOST: "whole=2"}, {}, MOST, "has metricType Value, which does not say what one replica takes"),
    ({MOST: "queue=2"}, FORMULA, MOST, "write min() into the formula"),
    ({JOBS: "8"}, {}, JOBS, "is for ScaledJobs; remove it"),
    ({UNTIL: "tomorrow"}, {}, UNTIL, "'tomorrow' is not a time with its offset; write for example 2026-11-23T22:00"),
    ({UNTIL: "2026-11-26T08:00:00"}, {}, UNTIL, "is not a time with its offset"),
    ({UNTIL: "9999-12-31T23:59:59Z"}, {}, UNTIL, "is not of the years 1970 to 2200"),
    ({UNTIL: "", PAUSED: "true"}, {}, UNTIL, "is not a time with its offset"),
]


@pytest.mark.parametrize(("annotations", "spec", "name", "told"), WRONG, ids=[str(row[0]) for row in WRONG])
def test_a_wrong_value_is_an_error_that_names_annotation_value_and_remedy(
    annotations: dict[str, str], spec: dict[str, Any], name: str, told: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        spec_of(annotations, **spec)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"metadata.annotations[{name}]: ")
    assert caught.value.field == f"metadata.annotations[{name}]"


@pytest.mark.parametrize(
    ("annotations", "name", "told"),
    [
        ({JOBS: "many"}, JOBS, '"many" is not a whole number from 1 to 2147483647; write for example "20"'),
        ({JOBS: "0"}, JOBS, '"0" is not a whole number'),
        ({MOST: "queue=2"}, MOST, "is for ScaledObjects; remove it"),
        ({COOLDOWN: "after-scale-in"}, COOLDOWN, "is for ScaledObjects; remove it"),
        ({WHEN: "some"}, WHEN, '"some" is unknown'),
        ({UNTIL: "soon"}, UNTIL, "is not a time with its offset"),
    ],
)
def test_a_wrong_value_of_a_scaled_job_is_an_error_as_well(annotations: dict[str, str], name: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        job_spec_of(annotations)
    assert told in str(caught.value)
    assert caught.value.field == f"metadata.annotations[{name}]"


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        spec_of({COOLDOWN: "x", WHEN: "y", MOST: "z"})
    assert [one.field.removeprefix("metadata.annotations[").removesuffix("]") for one in caught.value.each] == [
        COOLDOWN,
        WHEN,
        MOST,
    ]


def refusal(read: Callable[[dict[str, str]], object], annotations: dict[str, str]) -> ConfigError | None:
    try:
        read(annotations)
    except ConfigError as error:
        return error
    return None


@given(st.sampled_from(OF_SCALED_OBJECTS), st.text(max_size=80))
def test_any_text_on_a_scaled_object_asks_for_something_or_is_refused(name: str, text: str) -> None:
    if (error := refusal(spec_of, {name: text})) is not None:
        assert name in error.field
        assert len(str(error)) < 500
    elif text not in ("any", "after-activity"):
        spec = spec_of({name: text})
        assert spec.after_scale_in or spec.needs_all or spec.most_per_trigger or spec.pause.until


@given(st.sampled_from(OF_SCALED_JOBS), st.text(max_size=80))
def test_any_text_on_a_scaled_job_asks_for_something_or_is_refused(name: str, text: str) -> None:
    if (error := refusal(job_spec_of, {name: text})) is not None:
        assert name in error.field
    elif text != "any":
        spec = job_spec_of({name: text})
        assert spec.needs_all or spec.most_jobs or spec.pause.until


PAUSES = [
    ({UNTIL: END_TEXT}, True, None),
    ({UNTIL: END_TEXT, PAUSED: "true"}, True, None),
    ({UNTIL: END_TEXT, PAUSED_AT: "2"}, True, 2),
    ({UNTIL: END_TEXT, PAUSED_IN: "true"}, False, None),
    ({UNTIL: END_TEXT, PAUSED: "false"}, True, None),
]


@pytest.mark.parametrize(("annotations", "stopped", "count"), PAUSES, ids=[str(row[0]) for row in PAUSES])
def test_a_pause_with_an_end_is_a_pause_until_then_and_none_from_then_on(
    annotations: dict[str, str], stopped: bool, count: int | None
) -> None:
    written = spec_of(annotations)
    before = without_ended_pause(written, END - timedelta(microseconds=1))
    assert (before.pause.stopped, before.pause.replica_count(), before.pause.any) == (stopped, count, True)
    assert before.paused_by_owner is stopped is is_stopped(annotations, END - timedelta(microseconds=1))
    after = without_ended_pause(written, END)
    assert (after.pause.any, after.paused_by_owner, after.pause_over) == (False, False, True)
    assert not is_stopped(annotations, END)


def test_a_pause_without_an_end_does_not_end() -> None:
    written = spec_of({PAUSED: "true"})
    assert without_ended_pause(written, END + timedelta(days=10_000)) is written


def test_an_end_that_cannot_be_read_ends_no_pause() -> None:
    assert is_stopped({PAUSED: "true", UNTIL: "never"}, END + timedelta(days=10_000))


@pytest.mark.parametrize("at", [END - timedelta(seconds=1), END])
def test_an_environment_puts_to_sleep_what_its_owner_does_not_pause_any_more(at: datetime) -> None:
    spec = without_ended_pause(spec_of({UNTIL: END_TEXT, PAUSED_AT: "3"}), at)
    asleep = lay_over(spec, OverlayAsleep())
    assert asleep.pause.replica_count() == (3 if at < END else 0)


def test_an_environment_whose_triggers_wake_puts_to_sleep_at_once_what_would_be_scaled_in_first() -> None:
    spec = lay_over(spec_of({COOLDOWN: "after-scale-in"}), OverlayAsleep(triggers_wake=True))
    assert spec.after_scale_in is False
