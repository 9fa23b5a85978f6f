"""The documentation site: it builds without a warning, asks no other host for anything, and knows every kind and command."""

import importlib.util
import os
import re  # noqa: TID251 - constant patterns over our own files
import sys
from pathlib import Path

import pytest

from keda_py.apis.kinds.crds import build_crds
from keda_py.sdk.registry import trigger_types
from tests.browser import open_browser, served
from tests.places import ROOT
from tests.programs.client import run

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None,
    reason="mkdocs-material is not installed: pip install -r .ci/locks/docs.lock",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    playground = tmp_path_factory.mktemp("playground")
    (playground / "index.html").write_text("<title>playground</title>")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-f", str(ROOT / "docs" / "mkdocs.yml")]
    built = run(["-d", str(folder)], program=command, cwd=ROOT, env={**os.environ, "PLAYGROUND": str(playground)})
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_the_pages_load_nothing_from_other_hosts(site: Path) -> None:
    loaded = re.compile(
        r"<(?:script|img|iframe)[^>]+src=\"?https?://|<link[^>]+rel=\"?stylesheet[^>]+href=\"?https?://"
    )
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    assert [page.name for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []


def test_the_reference_knows_every_kind_trigger_type_and_command(site: Path) -> None:
    kinds = (site / "reference" / "kinds.html").read_text(encoding="utf-8")
    assert [kind for crd in build_crds() if f'id="{(kind := crd["spec"]["names"]["kind"]).lower()}"' not in kinds] == []
    triggers = (site / "reference" / "triggers.html").read_text(encoding="utf-8")
    assert [one for one in trigger_types() if f'href="triggers/{one}.html"' not in triggers] == []
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert "keda-py-operator" in commands
    assert "--kubeconfig" in commands
    assert "keda_scaler_active" in (site / "reference" / "metrics.html").read_text(encoding="utf-8")


def test_each_trigger_type_has_a_page_with_its_keys_and_an_example(site: Path) -> None:
    for one in trigger_types():
        page = (site / "reference" / "triggers" / f"{one}.html").read_text(encoding="utf-8")
        assert f"<title>{one} - keda-py</title>" in page
        assert "<table>" in page, one
    kafka = (site / "reference" / "triggers" / "kafka.html").read_text(encoding="utf-8")
    assert "<code>lagThreshold</code>" in kafka
    assert "bootstrapServers" in kafka.partition("highlight")[2]


def test_the_playground_is_part_of_a_site_that_is_built_with_it(site: Path) -> None:
    assert (site / "playground" / "index.html").is_file()
    assert 'href="playground/index.html"' in (site / "playground.html").read_text(encoding="utf-8")


def test_a_search_in_a_browser_without_a_network_finds_what_the_pages_say(site: Path, tmp_path: Path) -> None:
    with served(site) as address, open_browser(tmp_path) as browser:
        browser.driver.execute_cdp_cmd("Network.enable", {})
        browser.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["https://*"]})
        browser.driver.get(address)
        browser.driver.execute_script("document.querySelector('label[for=__search]').click()")
        browser.until("label[for=__search]", "")
        browser.driver.find_element("css selector", "input.md-search__input").send_keys("kube-green")
        browser.until(".md-search-result__meta", "matching document")
        browser.until(".md-search-result__list", "kube-green")
