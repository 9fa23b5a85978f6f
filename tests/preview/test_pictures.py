"""The picture for merge requests and the file for a team's calendar; and README's picture, which is made here."""

from xml.etree import ElementTree

from icalendar import Calendar

from keda_py.core.cron.zones import load_zone
from keda_py.preview.pages.ics import ics_of
from keda_py.preview.pages.svg import svg_of
from tests.builders import cron
from tests.places import ROOT
from tests.preview import picture
from tests.preview.builders import app, dev, look

UTC = load_zone("UTC")
SVG = "{http://www.w3.org/2000/svg}"


def test_each_time_that_something_is_up_is_an_event() -> None:
    found = look(app(cron(desired=2)), app(cron("0 0 * * *", "0 1 * * *", 1), name="up", minReplicaCount=1), dev())
    events = Calendar.from_ical(ics_of(found)).walk("VEVENT")
    told = [(str(one["SUMMARY"]), f"{one['DTSTART'].dt:%a %H:%M}", f"{one['DTEND'].dt:%a %H:%M}") for one in events]
    assert told[0] == ("shop/dev: awake", "Mon 08:00", "Mon 18:00")
    assert ("shop/app: 2 replicas", "Mon 08:00", "Mon 18:00") in told
    assert len({str(one["UID"]) for one in events}) == len(events) == 15


def test_what_is_always_up_is_no_event() -> None:
    assert b"VEVENT" not in ics_of(look(app(minReplicaCount=1)))


def test_a_picture_has_a_lane_for_each_object_and_a_bar_for_each_span() -> None:
    scaled = app(cron("0 12 * * *", "0 16 * * *", 2), cron("0 14 * * *", "0 16 * * *", 3))
    root = ElementTree.fromstring(svg_of(look(scaled, dev()), UTC))
    lanes = root.findall(f"{SVG}g")
    assert [len(lane.findall(f"{SVG}rect")) for lane in lanes] == [5, 10]  # two, and later three
    assert "Mon 23 Nov to Sun 29 Nov 2026, UTC" in [text.text for text in root.iter(f"{SVG}text")]


def test_a_picture_shows_names_and_no_markup_of_tenants() -> None:
    late = dev()
    late["metadata"]["name"] = "<script>x</script>"
    picture = svg_of(look(late), UTC)
    assert b"<script" not in picture
    assert b"&lt;script&gt;" in picture


def test_the_picture_of_the_example_is_what_preview_draws() -> None:
    """`python -m tests.preview.picture` draws it again."""
    assert (ROOT / picture.PICTURE).read_bytes() == picture.draw()
