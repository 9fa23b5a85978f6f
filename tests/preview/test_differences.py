"""Differences between two versions of manifests, in words."""

from typing import Any

import pytest

from keda_py.core.cron.zones import load_zone
from keda_py.preview.pages.differences import differences, document_of, text_of
from tests.builders import cron
from tests.preview.builders import app, look

UTC = load_zone("UTC")
WEEKDAYS = {"start": "0 8 * * 1-5", "end": "0 19 * * 1-5", "desired": 2}


def words(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    previews = [look(app(cron(**{**WEEKDAYS, **one}), cooldownPeriod=0)) for one in (old, new)]
    return [text for each in differences(*previews, UTC) for text in each.words]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({}, []),
        ({"start": "0 8 * * 1-6", "end": "0 19 * * 1-6"}, ["Saturday: up 11 h more"]),
        ({"end": "30 18 * * 1-5"}, ["Mon-Fri: up 30 min less"]),
        ({"start": "0 9 * * 1-5", "end": "0 20 * * 1-5"}, ["Mon-Fri: up 09:00-20:00 instead of 08:00-19:00"]),
        ({"desired": 3}, ["Mon-Fri: 11 replica hours more"]),
    ],
    ids=["the same", "another day", "shorter", "later", "more replicas"],
)
def test_a_change_is_told_by_days(new: dict[str, Any], expected: list[str]) -> None:
    assert words({}, new) == expected


def test_objects_that_come_and_go_are_told() -> None:
    found = differences(look(app(name="old")), look(app(name="new")), UTC)
    told = text_of(found)
    assert [each.words for each in found] == [("is added",), ("is removed",)]
    assert told.startswith("ScaledObject shop/new: 84.6 h up a week, 169.2 replica hours\n  is added\n")
    assert [set(one) & {"old", "new"} for one in document_of(found)] == [{"new"}, {"old"}]


def test_two_that_are_alike_are_told_to_be() -> None:
    assert text_of(differences(look(app()), look(app()), UTC)) == "nothing goes otherwise\n"
