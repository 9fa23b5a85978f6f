"""The script that publishes the documentation site: versions stay side by side, and `latest` is the newest release."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import read_file
from tests.places import ROOT

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mike") is None, reason="mike is not installed: pip install -r .ci/locks/docs.lock"
)


class Repository:
    """A checkout of a small site with a remote repository."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self._remote = folder / "checkout", folder / "remote.git"
        self._git(folder, "init", "--quiet", "--bare", str(self._remote))
        self._git(folder, "clone", "--quiet", str(self._remote), str(self.checkout))
        (self.checkout / "docs/pages").mkdir(parents=True)
        (self.checkout / "docs/pages/index.md").write_text("# Page\n")
        (self.checkout / "docs/mkdocs.yml").write_text("site_name: small\ndocs_dir: pages\n")
        shutil.copytree(ROOT / ".ci", self.checkout / ".ci", ignore=shutil.ignore_patterns("locks"))
        self._git(self.checkout, "add", ".")
        self._git(
            self.checkout, "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "-m", "pages"
        )
        self._git(self.checkout, "push", "--quiet", "origin", "HEAD")

    def publish(self, version: str) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "PLAYGROUND": ""}
        done = subprocess.run(
            [".ci/publish_site", version], cwd=self.checkout, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def published(self) -> set[str]:
        return set(self._git(self._remote, "ls-tree", "-r", "--name-only", "gh-pages").splitlines())

    def shown(self, path: str) -> str:
        return self._git(self._remote, "show", f"gh-pages:{path}")

    @staticmethod
    def _git(folder: Path, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout


def test_each_minor_version_keeps_its_pages_and_latest_leads_to_the_newest_release(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    for version in ("0.1.0", "0.2.3", "0.3.0-rc.1"):
        repository.publish(version)
    versions = {one["version"]: one["aliases"] for one in json.loads(repository.shown("versions.json"))}
    assert versions == {"0.3-next": [], "0.2": ["latest"], "0.1": []}
    assert {"0.1/index.html", "0.2/index.html", "latest/index.html", "index.html"} <= repository.published()
    assert "../0.2/" in repository.shown("latest/index.html")
    assert "latest/" in repository.shown("index.html")


def test_the_pages_of_the_site_offer_the_versions() -> None:
    text = (ROOT / "docs" / "mkdocs.yml").read_text(encoding="utf-8")
    assert "version: {provider: mike}" in text
    job = read_file(ROOT / ".github/workflows/release.yml")["jobs"]["site"]
    assert job["steps"][-1]["run"] == '.ci/publish_site "${GITHUB_REF_NAME#v}"'
