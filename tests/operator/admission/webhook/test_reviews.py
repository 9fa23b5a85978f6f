"""Whatever a body holds: a verdict, or the refusal of something malformed; never anything else, never for long."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keda_py.apis.scaled_object import MOST_TRIGGERS, ScaleTrigger
from keda_py.core.spec import build_spec
from keda_py.operator.admission.paths import KINDS_BY_PATH, SCALED_JOB, WEBHOOKS
from keda_py.operator.admission.webhook.extent import DEEPEST, LONGEST_TEXT, MOST_VALUES
from keda_py.operator.admission.webhook.life import lent_to_scalers
from keda_py.operator.admission.webhook.orders import give_orders
from keda_py.operator.admission.webhook.reviews import (
    LONGEST_MESSAGE,
    MOST_CONTAINERS,
    MOST_WARNINGS,
    AdmissionResult,
    Malformed,
    Reviewer,
    read_review,
)
from keda_py.sdk.checks import warn_of_triggers
from keda_py.settings.settings import load_settings
from keda_py.testing import shared_context
from tests.builders import cron
from tests.calls import calls_of
from tests.costs import within
from tests.operator.admission.webhook.reviews import CRON, PATH, UID, Obj, a_reviewer, review, written
from tests.scalers.recorded.metadata_cases import recorded_types


@pytest.fixture
async def reviewer() -> AsyncIterator[Reviewer]:
    async with a_reviewer() as made:
        yield made


async def judge(reviewer: Reviewer, body: bytes, path: str = PATH) -> AdmissionResult:
    return await reviewer.review(path, read_review(body))


def message(verdict: AdmissionResult) -> str:
    response = verdict.response["response"]
    assert not response["allowed"]
    text: str = response["status"]["message"]
    return text


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


async def test_an_ordinary_object_is_allowed(reviewer: Reviewer) -> None:
    verdict = await judge(reviewer, review(written()))
    assert verdict.response["response"] == {"uid": UID, "allowed": True}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            lambda: {"triggers": [CRON] * 50_000},
            f"spec.triggers: has 50000 entries; at most {MOST_TRIGGERS} are allowed",
        ),
        (
            lambda: {"triggers": [{**CRON, "metadata": {str(n): "" for n in range(100_000)}}]},
            f"more than {MOST_VALUES} values",
        ),
        (
            lambda: {"triggers": [{**CRON, "metadata": {str(n): n for n in range(100_000)}}]},
            f"more than {MOST_VALUES} values",
        ),
        (lambda: {"triggers": [{**CRON, "name": "n" * 1_000_000}]}, f"at most {LONGEST_TEXT} are allowed"),
        (lambda: {"triggers": [{**CRON, "metadata": {"k" * 1_000_000: ""}}]}, f"at most {LONGEST_TEXT} are allowed"),
        (
            lambda: {"advanced": {"scalingModifiers": {"formula": "a+" * 500_000}}},
            f"at most {LONGEST_TEXT} are allowed",
        ),
        (
            lambda: {"advanced": {"horizontalPodAutoscalerConfig": {"behavior": nested(200)}}},
            f"more than {DEEPEST} deep",
        ),
        (lambda: {"k" * 1_000_000: 1}, f"at most {LONGEST_TEXT} are allowed"),
    ],
)
async def test_what_is_too_large_to_be_judged_is_denied_and_says_so(
    reviewer: Reviewer, spec: Callable[[], Obj], words: str
) -> None:
    body = review(written(**spec()))
    with within(2.0):  # 50 000 triggers took 7 s
        verdict = await judge(reviewer, body)
    assert words in message(verdict)
    assert verdict.denied == "too-large"
    assert len(message(verdict)) <= LONGEST_MESSAGE


@pytest.mark.parametrize(("unknown", "warnings"), [(0, 0), (5, MOST_WARNINGS)])
async def test_the_most_that_is_judged_is_judged_fast(reviewer: Reviewer, unknown: int, warnings: int) -> None:
    odd = {**CRON, "metadata": {**CRON["metadata"], **{f"unknown{n}": "x" for n in range(unknown)}}}
    body = review(written(triggers=[odd] * MOST_TRIGGERS))
    with within(2.0):
        verdict = await judge(reviewer, body)
    assert len(verdict.response["response"].get("warnings", ())) == warnings


def warnings_of(verdict: AdmissionResult) -> list[str]:
    assert verdict.response["response"]["allowed"]
    found: list[str] = verdict.response["response"].get("warnings", [])
    return found


async def test_a_schedule_that_does_what_its_author_may_not_mean_is_warned_of(reviewer: Reviewer) -> None:
    weekend = cron("0 8 * * 1-5", "0 1 * * 1-5")
    [warning] = warnings_of(await judge(reviewer, review(written(triggers=[weekend]))))
    assert warning.startswith("spec.triggers[0].metadata.end: Fri 08:00 to Mon 01:00 is one opening of 65 h")
    assert warning.endswith(" [window-over-weekend]")
    job = written(triggers=[weekend], jobTargetRef={"template": {}})
    assert warnings_of(await judge(reviewer, review(job), SCALED_JOB.path)) == [warning]


async def test_a_warning_is_switched_off_by_an_annotation_and_a_denial_is_not(reviewer: Reviewer) -> None:
    obj = written(triggers=[cron("0 8 * * 1-5", "0 1 * * 1-5"), cron("0 0 * * *", "0 6 * * *", timezone="KST")])
    obj["metadata"]["annotations"] = {"keda-py.dev/ignore": "window-over-weekend"}
    [left] = warnings_of(await judge(reviewer, review(obj)))
    assert "'KST' is not a known time zone; did you mean Asia/Seoul?" in left
    obj["metadata"]["annotations"] = {"keda-py.dev/ignore": "incorrect-triggers,incorrect-replicas,schema"}
    obj["spec"] |= {"minReplicaCount": 3, "maxReplicaCount": 2}
    assert message(await judge(reviewer, review(obj))) == "MinReplicaCount=3 must be less than MaxReplicaCount=2"


@pytest.mark.parametrize("ignored", ["", "unknown-key,windows-overlap,every-minute", "," * 200_000])
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("0 8 1 * *", "0 20 * 2 *"),
        ("*/2 * * * *", "1-59/2 * * * *"),
        ("* * * * *", "0 0 * * *"),
        ("0-9 0-9 * * 1", "0 0 29 2 *"),
    ],
)
async def test_schedules_are_walked_within_bounds(reviewer: Reviewer, ignored: str, start: str, end: str) -> None:
    odd = [cron(start, end) for _ in range(MOST_TRIGGERS)]
    for at, trigger in enumerate(odd):
        trigger["metadata"] |= {"desiredReplicas": str(at + 1)} | {
            f"unknown{n}": "x" for n in range(5 if ignored else 0)
        }
    obj = written(triggers=odd)
    obj["metadata"]["annotations"] = {"keda-py.dev/ignore": ignored, "autoscaling.keda.sh/" + "x" * 200: "y"}
    body = review(obj)
    with within(2.0):
        assert len(warnings_of(await judge(reviewer, body))) <= MOST_WARNINGS


async def test_an_object_on_its_way_out_may_go_whatever_its_size(reviewer: Reviewer) -> None:
    old = written(triggers=[CRON] * 2000)
    new = {**old, "metadata": {**old["metadata"], "finalizers": []}}
    old = {**old, "metadata": {**old["metadata"], "finalizers": ["finalizer.keda.sh"]}}
    verdict = await judge(reviewer, review(new, oldObject=old, operation="UPDATE"))
    assert verdict.response["response"]["allowed"]


async def test_what_no_check_reads_does_not_count(reviewer: Reviewer) -> None:
    obj = written()
    obj["status"] = {"conditions": [{"type": "Ready"}] * 30_000}
    obj["metadata"]["managedFields"] = [{"fieldsV1": {str(n): {} for n in range(30_000)}}]
    obj["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "x" * 200_000}
    assert (await judge(reviewer, review(obj))).response["response"]["allowed"]
    job = written(jobTargetRef={"template": {"args": ["x"] * 30_000, "script": "x" * 200_000}})
    assert (await judge(reviewer, review(job), SCALED_JOB.path)).response["response"]["allowed"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="half of it"),
        pytest.param(b"\xff\xfe{}", id="no text"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"1e999", id="a number"),
        pytest.param(b"{}", id="no request"),
        pytest.param(b'{"request": []}', id="request a list"),
        pytest.param(b"[" * 100_000, id="deep and unfinished"),
        pytest.param(b"[" * 5000 + b"]" * 5000, id="deep"),
        pytest.param(b'{"request": ' + b'{"a":' * 2000 + b"1" + b"}" * 2001, id="deep inside"),
        pytest.param(b"[" + b"[]," * MOST_CONTAINERS + b"[]]", id="many lists"),
        pytest.param(review(written(), uid="u" * 129), id="a long uid"),
        pytest.param(review(written(), uid=""), id="no uid"),
        pytest.param(review(written(), uid={"a": 1}), id="uid a map"),
        pytest.param(review(written(), uid=7), id="uid a number"),
        pytest.param(review(written(), operation="X" * 100), id="a long operation"),
        pytest.param(review(written(), operation=None), id="no operation"),
        pytest.param(review(written(), namespace="n" * 64), id="a long namespace"),
        pytest.param(review([]), id="object a list"),
        pytest.param(review("text"), id="object a text"),
        pytest.param(review(written(), oldObject=[1]), id="old object a list"),
        pytest.param(review(written()).replace(UID.encode(), b"\\ud800"), id="half a character"),
    ],
)
def test_what_is_no_review_is_malformed_and_not_repeated(body: bytes) -> None:
    with pytest.raises(Malformed) as refused:
        read_review(body)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("part", ["metadata", "spec"])
@pytest.mark.parametrize("value", [None, [], [[]], "text", 7, -1.5, True, {}, {"finalizers": 3}, {"finalizers": "ab"}])
@pytest.mark.parametrize("old", [None, {}, {"metadata": [1]}, {"metadata": {"finalizers": ["a", "b"]}}])
async def test_wrong_types_are_denied_or_allowed_and_nothing_else(
    reviewer: Reviewer, part: str, value: Any, old: Any
) -> None:
    body = review({**written(), part: value}, oldObject=old, operation="UPDATE")
    for webhook in WEBHOOKS:
        assert isinstance(await judge(reviewer, body, webhook.path), AdmissionResult)


async def test_of_two_keys_of_one_name_the_last_counts(reviewer: Reviewer) -> None:
    twice = review(written()).replace(b'"operation"', b'"uid":"other","operation"')
    assert (await judge(reviewer, twice)).response["response"]["uid"] == "other"


@pytest.mark.parametrize("number", [b"9" * 30, b"9" * 5000, b"-1", b"1e400", b"1.5", b"99999999999"])
@pytest.mark.parametrize("field", ["maxReplicaCount", "pollingInterval", "minReplicaCount"])
async def test_huge_numbers_are_refused_like_wrong_ones(reviewer: Reviewer, number: bytes, field: str) -> None:
    body = review(written(**{field: 12345})).replace(b"12345", number)
    try:
        verdict = await judge(reviewer, body)
    except Malformed:
        return
    assert f"spec.{field}" in message(verdict)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=10), inside, max_size=4),
    max_leaves=20,
)
PLACES = st.sampled_from(
    [
        ("metadata",), ("metadata", "name"), ("metadata", "namespace"), ("metadata", "annotations"),
        ("metadata", "labels"), ("metadata", "finalizers"), ("metadata", "generation"), ("spec",),
        ("spec", "triggers"), ("spec", "scaleTargetRef"), ("spec", "scaleTargetRef", "name"), ("spec", "advanced"),
        ("spec", "fallback"), ("spec", "jobTargetRef"), ("spec", "podIdentity"), ("spec", "secretTargetRef"),
        ("spec", "eventSubscription"), ("spec", "destination"), ("spec", "maxReplicaCount"), ("status",),
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=PLACES, value=ANY_JSON, webhook=st.sampled_from(WEBHOOKS))
async def test_any_json_at_any_place_gets_a_verdict(
    reviewer: Reviewer, place: tuple[str, ...], value: Any, webhook: Any
) -> None:
    obj = orjson.loads(orjson.dumps(written()))
    *parents, last = place
    holder = obj
    for name in parents:
        holder = holder[name]
    holder[last] = value
    try:
        verdict = await judge(reviewer, review(obj), webhook.path)
    except Malformed:
        return
    assert orjson.dumps(verdict.response)


async def test_outside_of_the_watched_namespaces_nothing_is_judged() -> None:
    async with a_reviewer("shop") as reviewer:
        wrong = written(triggers=[])
        assert (await judge(reviewer, review(wrong, namespace="other"))).response["response"]["allowed"]
        assert not (await judge(reviewer, review(wrong, namespace="shop"))).response["response"]["allowed"]


HOURS = [{"days": "Mon-Fri", "from": "08:00", "to": "18:00"}]


def calendar_spec(zone: str, **holidays: str) -> Obj:
    return {"timeZone": zone, "hours": HOURS, "holidays": [{"dates": ["2026-12-24"]}, holidays]}


@pytest.mark.parametrize(
    ("kind", "spec", "told"),
    [
        ("calendar", calendar_spec("UTC", country="XX"), "spec.holidays[1].country: 'XX' is unknown"),
        ("clustercalendar", calendar_spec("UTC", country="DE", subdivision="ZZ"), "spec.holidays[1].subdivision: 'ZZ' is"),
        ("environment", {"calendar": calendar_spec("UTC", country="Germany")}, "spec.calendar.holidays[1].country: 'Germany' is"),
        ("clusterenvironment", {"namespaceSelector": {}, "template": {"calendar": calendar_spec("UTC", country="XX")}}, "spec.template.calendar.holidays[1].country: 'XX' is"),
        ("environment", {"calendar": calendar_spec("Europe/Prag", country="CZ")}, "spec.calendar.timeZone: 'Europe/Prag' is not a known"),
        ("calendar", calendar_spec("Mars/Base", country="CZ"), "spec.timeZone: 'Mars/Base' is not a known time zone"),
        ("scalingschedule", {"names": ["web"], "timeZone": "Mars/Base", "periods": [{"name": "day", "hours": HOURS, "minReplicas": 1}]}, "spec.timeZone: 'Mars/Base' is not"),
    ],
)  # fmt: skip
async def test_an_unknown_country_subdivision_or_zone_is_refused(
    reviewer: Reviewer, kind: str, spec: Obj, told: str
) -> None:
    body = review({"metadata": {"name": "office"}, "spec": spec})
    assert told in message(await judge(reviewer, body, f"/validate-keda-py-dev-v1alpha1-{kind}"))


async def test_a_country_that_is_known_is_let_in(reviewer: Reviewer) -> None:
    body = review({"metadata": {"name": "office"}, "spec": calendar_spec("UTC", country="DE", subdivision="BY")})
    verdict = await judge(reviewer, body, "/validate-keda-py-dev-v1alpha1-calendar")
    assert verdict.response["response"] == {"uid": UID, "allowed": True}


def test_a_scaled_object_is_read_into_a_spec_once_a_review() -> None:
    async def reviewed() -> None:
        async with a_reviewer() as reviewer:
            verdict = await judge(reviewer, review(written(triggers=[CRON])))
            assert verdict.judged

    assert calls_of(lambda: asyncio.run(reviewed()), build_spec) == 1


async def test_triggers_of_every_type_are_judged_alike_though_the_process_has_no_client_of_any_source() -> None:
    orders = give_orders(load_settings({}, {}), KINDS_BY_PATH, (), logging.WARNING)
    cases = [case.recorded["metadata"] | {"": kind} for kind, cases in recorded_types().items() for case in cases]
    triggers = [ScaleTrigger(type=metadata.pop(""), metadata=metadata) for metadata in cases]
    assert len(triggers) > 500
    async with shared_context() as lent:
        expected = [list(warn_of_triggers([trigger], lent)) for trigger in triggers]
    assert [list(warn_of_triggers([trigger], lent_to_scalers(orders))) for trigger in triggers] == expected
    assert any(expected)
    assert not all(expected)
