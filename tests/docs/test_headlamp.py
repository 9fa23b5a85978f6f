"""The plugin for Headlamp in a browser, with a stand-in for Headlamp's libraries: its pages show what a status says.

Headlamp itself is in no package registry. The stand-in has the names and shapes of `@kinvolk/headlamp-plugin` 0.14.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from keda_py.apis.kinds.crds import build_crds
from tests.browser import Browser, open_browser
from tests.places import ROOT

PLUGIN = ROOT / "docs" / "headlamp" / "main.js"
ASLEEP = {
    "phase": "Asleep",
    "ready": "0/2",
    "up": "0/2",
    "because": "the calendar office is closed",
    "nextChange": {"to": "Awake", "at": "2026-11-23T23:30:00Z"},
    "members": {"Deployment/web": {"stage": "Down", "replicas": 3, "since": "2026-11-23T10:30:00Z"}},
    "conditions": [{"type": "Contested", "status": "False", "reason": "NoRival", "message": ""}],
}
WOKEN = {
    "phase": "Awake",
    "ready": "2/2",
    "up": "2/2",
    "override": {"summary": "Awake until 2026-11-24T01:00:00Z", "request": "web from 10.1.2.3, Mozilla"},
    "conditions": [
        {"type": "Contested", "status": "True", "reason": "PutBack", "message": "<b>argocd</b> puts counts back"}
    ],
}
POLICY = {
    "namespaces": {"covered": 40, "asleep": 39, "failed": 1},
    "needsPerson": [{"namespace": "bank", "message": "a quota is full"}],
}
STAND_IN = """
const routes = {}, entries = [];
const element = (type, props, ...children) => {
  const given = { ...(props || {}), children };
  if (typeof type === "function") return type(given);
  const node = document.createElement(type);
  node.append(...children.flat().filter((one) => one !== null && one !== undefined));
  return node;
};
const table = (columns, data, value) => element("table", null,
  ...data.map((item) => element("tr", null, ...columns.map((one) => element("td", null, value(one, item))))));
const cell = (one, item) => one === "namespace" ? item.jsonData.metadata.namespace : one === "age" ? "1d"
  : one.render ? one.render(item) : String(one.getValue(item));
const box = ({ title, children }) => element("section", null, element("h1", null, title), ...children);
window.objects = {};
window.pluginLib = {
  React: { createElement: element, Fragment: ({ children }) => element("div", null, ...children) },
  ReactRouter: { useParams: () => window.params },
  Crd: { makeCustomResourceClass: ({ kind }) => ({
    all: () => window.objects[kind].map((jsonData) => ({ jsonData })),
    useGet: (name, namespace) => {
      const found = window.objects[kind].find((one) => one.metadata.name === name && one.metadata.namespace === namespace);
      return found ? [{ jsonData: found }, null] : [null, new Error("not found")];
    },
  }) },
  CommonComponents: {
    SectionBox: box,
    StatusLabel: ({ status, children }) => element("b", null, `${status}:`, ...children),
    Link: ({ params, children }) => element("a", null, `${params.namespace}/`, ...children),
    ResourceListView: ({ title, resourceClass, columns }) => box({ title, children: [table(columns, resourceClass.all(), cell)] }),
    NameValueTable: ({ rows }) => table([0, 1], rows.filter((one) => !one.hide), (at, one) => (at ? one.value : one.name)),
    SimpleTable: ({ columns, data, emptyMessage }) =>
      data.length ? table(columns, data, (one, item) => String(one.getter(item))) : element("p", null, emptyMessage),
    ConditionsTable: ({ resource }) =>
      table([0], resource.status.conditions, (_, one) => `${one.type} ${one.status} ${one.message}`),
    ObjectEventList: () => element("p", null, "events"),
  },
  registerRoute: (route) => { routes[route.path] = route; },
  registerSidebarEntry: (entry) => entries.push(entry),
};
window.shown = (path, params) => {
  window.params = params;
  document.body.replaceChildren(element(routes[path].component, {}));
};
window.entries = entries;
"""


def manifest(kind: str, name: str, status: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec, "status": status}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    page = tmp_path_factory.mktemp("headlamp") / "index.html"
    objects = {
        "Environment": [manifest("Environment", "develop", ASLEEP), manifest("Environment", "release", WOKEN)],
        "ClusterEnvironment": [manifest("ClusterEnvironment", "nights", POLICY)],
        "Override": [manifest("Override", "late", {}, state="Awake", until="2026-11-24T01:00:00Z", reason="a demo")],
    }
    given = json.dumps(objects).replace("<", "\\u003c")
    script = f"{STAND_IN}\nwindow.objects = {given};\n{PLUGIN.read_text(encoding='utf-8')}"
    page.write_text(f"<!doctype html><meta charset='utf-8'><body><script>{script}</script>", encoding="utf-8")
    with open_browser(tmp_path_factory.mktemp("chromium")) as found:
        found.pretend("Asia/Seoul", "light")
        found.driver.get(page.as_uri())
        yield found


def shown(browser: Browser, path: str, **params: str) -> str:
    browser.driver.execute_script("window.shown(arguments[0], arguments[1])", path, params)
    return browser.text("body")


def test_the_list_says_who_is_asleep_what_comes_next_and_why(browser: Browser) -> None:
    text = shown(browser, "/keda-py/environments")
    assert "shop/develop" in text
    assert ":Asleep" in text
    assert "Awake 11/24/2026, 8:30:00 AM" in text
    assert "the calendar office is closed" in text


def test_an_environment_that_is_contested_is_marked_as_an_error(browser: Browser) -> None:
    assert "error:Awake" in shown(browser, "/keda-py/environments")


def test_the_page_of_an_environment_lists_its_members_and_who_woke_it(browser: Browser) -> None:
    path = "/keda-py/environments/:namespace/:name"
    asleep = shown(browser, path, namespace="shop", name="develop")
    assert "Deployment/web Down 3" in asleep
    assert "Woken by" not in asleep
    assert "Woken by web from 10.1.2.3, Mozilla" in shown(browser, path, namespace="shop", name="release")


def test_words_of_the_cluster_are_text_and_never_markup(browser: Browser) -> None:
    text = shown(browser, "/keda-py/environments/:namespace/:name", namespace="shop", name="release")
    assert "<b>argocd</b> puts counts back" in text


def test_an_environment_that_cannot_be_read_says_so(browser: Browser) -> None:
    text = shown(browser, "/keda-py/environments/:namespace/:name", namespace="shop", name="gone")
    assert "It cannot be read: not found" in text


def test_policies_and_overrides_have_pages_of_their_own(browser: Browser) -> None:
    assert "nights 40 0 39 0 0 1 bank: a quota is full" in shown(browser, "/keda-py/clusterenvironments")
    assert "late shop Awake 11/24/2026, 10:00:00 AM a demo" in shown(browser, "/keda-py/overrides")
    assert len(browser.driver.execute_script("return window.entries")) == 4


@pytest.mark.parametrize(
    ("kind", "status"), [("Environment", ASLEEP), ("Environment", WOKEN), ("ClusterEnvironment", POLICY)]
)
def test_the_status_that_the_plugin_is_shown_here_is_one_of_the_definition(kind: str, status: dict[str, Any]) -> None:
    crd = next(one for one in build_crds() if one["spec"]["names"]["kind"] == kind)
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    assert list(_unknown(status, schema, "status")) == []


def _unknown(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Fields that the schema does not have."""
    if isinstance(value, list):
        for one in value:
            yield from _unknown(one, schema["items"], path)
    elif isinstance(value, dict):
        for name, inner in value.items():
            known = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
            if not known:
                yield f"{path}.{name}"
            else:
                yield from _unknown(inner, known, f"{path}.{name}")


def test_the_plugin_loads_nothing_from_elsewhere() -> None:
    text = Path(PLUGIN).read_text(encoding="utf-8")
    assert "http" not in text
    assert "import" not in text
