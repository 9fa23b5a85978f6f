"""Label and field selectors match and refuse as the real parser does."""

import pytest

from keda_py.core.values.selectors import LabelSelector
from keda_py.localkube.model.selectors import FieldSelector, parse_labels
from keda_py.schema.status import StatusError

OBJ = {"metadata": {"name": "web", "labels": {"team": "core", "tier": "3", "empty": ""}}, "spec": {"on": True}}


@pytest.mark.parametrize(
    ("text", "picked"),
    [
        ("", True),
        ("team=core", True),
        ("team==core", True),
        ("team = core", True),
        ("team!=core", False),
        ("absent!=core", True),
        ("team", True),
        ("!team", False),
        ("!absent", True),
        ("team in (core,infra)", True),
        ("team in (infra)", False),
        ("team notin (infra)", True),
        ("absent notin (infra)", True),
        ("tier>2", True),
        ("tier<3", False),
        ("team>2", False),
        ("empty=", True),
        ("team=core,tier=3,!absent", True),
        ("team=core,tier=4", False),
    ],
)
def test_a_label_selector_picks(text: str, picked: bool) -> None:
    assert parse_labels(text).matches(OBJ) is picked


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a in (", r"found '', expected: ',', '\)' or identifier"),
        ("a in (b", r"found '', expected: ',' or '\)'"),
        ("a ~ b", "found '~', expected: in, notin, =, ==, !=, gt, lt"),
        (",", "found ',', expected: !, identifier, or ''"),
        ("!", "found '', expected: identifier"),
        ("a>b", "found '>', expected: in, notin, =, ==, !=, gt, lt"),
    ],
)
def test_a_label_selector_that_makes_no_sense_is_refused(text: str, words: str) -> None:
    with pytest.raises(StatusError, match=f"unable to parse requirement: {words}") as refused:
        parse_labels(text)
    assert refused.value.code == 400


def test_a_selector_object_is_the_sum_of_its_parts() -> None:
    expressions = [{"key": "tier", "operator": "In", "values": ["3"]}, {"key": "absent", "operator": "DoesNotExist"}]
    selector = LabelSelector.of({"matchLabels": {"team": "core"}, "matchExpressions": expressions})
    assert selector.matches(OBJ)
    assert not selector.matches({"metadata": {"labels": {"team": "core"}}})


@pytest.mark.parametrize(
    ("text", "picked"),
    [
        ("metadata.name=web", True),
        ("metadata.name==web", True),
        ("metadata.name!=web", False),
        ("spec.on=true", True),
        ("status.phase=", True),
        ("metadata.name=web,status.phase!=Running", True),
    ],
)
def test_a_field_selector_picks(text: str, picked: bool) -> None:
    assert FieldSelector.parse(text).matches(OBJ) is picked


def test_a_field_selector_without_a_value_is_refused() -> None:
    with pytest.raises(StatusError, match=r"invalid selector: 'metadata\.name'"):
        FieldSelector.parse("metadata.name")


def test_a_job_is_selected_by_the_number_of_its_succeeded_pods() -> None:
    running, done = {"status": {"active": 1}}, {"status": {"succeeded": 1}}
    for wanted, found in (("0", running), ("1", done)):
        selector = FieldSelector.parse(f"status.successful={wanted}")
        assert [job for job in (running, done) if selector.matches(job)] == [found]
