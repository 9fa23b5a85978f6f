"""The playground in a browser, offline: the operator's own findings and its next week, beside the manifest.

`python docs/playground/build.py FOLDER NODE_MODULES/pyodide` makes it, and PLAYGROUND names that folder; `.ci/run` does
both.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from keda_py.apis.kinds.table import KINDS
from tests.browser import Browser, open_browser, served
from tests.documents import read_all
from tests.places import ROOT

FOLDER = os.environ.get("PLAYGROUND", "")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="needs PLAYGROUND, the folder that docs/playground/build.py has made of npm install pyodide"
)
EXAMPLES = sorted((ROOT / "examples").glob("*/*.yaml"))
EDIT = "const field = document.getElementById('manifest'); field.value = arguments[0]; field.dispatchEvent(new Event('input'))"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser on the playground, which has answered once."""
    with served(Path(FOLDER)) as address, open_browser(tmp_path_factory.mktemp("chromium")) as found:
        found.driver.get(address)
        found.until("#state", "1 objects read, 0 findings.")
        yield found


def test_the_first_page_shows_the_week_of_its_example(browser: Browser) -> None:
    assert "ScaledObject web: up 55" in browser.text("#objects")
    drawn = "const done = arguments[0]; document.getElementById('week').decode().then(() => done(''), (e) => done(String(e)))"
    assert browser.driver.execute_async_script(drawn) == ""


def test_an_error_is_told_with_its_line_and_remedy(browser: Browser) -> None:
    bad = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\nspec:\n  scaleTargetRef: {name: web}\n"
    bad += '  triggers:\n    - {type: cron, metadata: {timezone: Asia/Soul, start: "30 8 * * *", end: "30 19 * * *", desiredReplicas: "1"}}\n'
    browser.driver.execute_script(EDIT, bad)
    browser.until("#problems", "Asia/Soul")
    assert browser.driver.execute_script("return document.getElementById('week').hidden")


def test_an_environment_and_its_calendar_show_their_week(browser: Browser) -> None:
    files = ("00-namespaces", "develop")
    text = "\n---\n".join((ROOT / f"examples/nightly-environments/{name}.yaml").read_text() for name in files)
    browser.driver.execute_script(EDIT, text)
    browser.until("#objects", "Environment develop: up 55")


QUEUE = """
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: worker}
spec:
  scaleTargetRef: {name: worker}
  minReplicaCount: 0
  triggers:
    - {type: redis, metadata: {address: "redis:6379", listName: jobs, listLength: "5"}}
"""


def test_a_day_with_the_chosen_load_is_drawn_with_its_figures(browser: Browser) -> None:
    browser.driver.execute_script(EDIT, QUEUE)
    browser.until("#days", "most replicas: 12")
    assert "replica-hours" in browser.text("#days")
    office = browser.text("#days")
    choose = "const field = document.getElementById('profile'); field.value = 'steady'; field.dispatchEvent(new Event('change'))"
    browser.driver.execute_script(choose)
    browser.until("#days", "at zero: 0 s")
    assert browser.text("#days") != office
    drawn = "const done = arguments[0]; document.querySelector('#days img').decode().then(() => done(''), (e) => done(String(e)))"
    assert browser.driver.execute_async_script(drawn) == ""


def test_a_day_that_depends_on_pods_is_not_invented(browser: Browser) -> None:
    browser.driver.execute_script(EDIT, QUEUE + '    - {type: cpu, metricType: Utilization, metadata: {value: "60"}}\n')
    browser.until("#days", "keda-py simulate")


def test_the_page_may_connect_to_no_other_host(browser: Browser) -> None:
    ask = "const done = arguments[0]; fetch('http://127.0.0.2:9/').then(() => done('sent'), (e) => done(String(e)))"
    refused = browser.driver.execute_async_script(ask)
    assert "Failed to fetch" in refused
    policy = "return document.querySelector('meta[http-equiv]').content"
    assert "connect-src 'self'" in browser.driver.execute_script(policy)


@pytest.mark.parametrize("kind", [one.name for one in KINDS])
def test_the_published_schema_of_a_kind_accepts_the_examples_of_it(kind: str) -> None:
    schema = json.loads(Path(FOLDER, "schemas", f"{kind.lower()}.json").read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    objects = [one for path in EXAMPLES if "custom-scaler" not in path.parts for one in read_all(path.read_text())]
    ours = [one for one in objects if one and one["kind"] == kind]
    assert [error.message for one in ours for error in validator.iter_errors(one)] == []
