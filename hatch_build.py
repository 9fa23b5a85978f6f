"""The parts of the package's metadata that depend on where its source is published: links in the README, project URLs.

A link of the README leads to a file beside it. On a package index there is none, so that links are made absolute below
SOURCE_URL, the address of the repository (`.ci/release.py` sets it); without it each becomes its text, and a picture
goes. Builds call this file; a source distribution keeps what it made.
"""

import os
import re  # noqa: TID251 - constant patterns over our own README
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?![a-z]+:|#)[^)\s]+)\)")
_PAGES = {"Source": "", "Documentation": "blob/{tag}/README.md", "Changelog": "blob/{tag}/CHANGELOG.md"}


class SourceLinks(MetadataHookInterface):
    """Metadata hook that hatchling calls for `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in `readme` and `urls`."""
        source, tag = os.environ.get("SOURCE_URL", "").rstrip("/"), f"v{metadata['version']}"
        page = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_links(page, source, tag)}
        pages = {name: f"{source}/{path.format(tag=tag)}".rstrip("/") for name, path in _PAGES.items()}
        metadata["urls"] = pages if source else {}


def with_links(page: str, source: str, tag: str) -> str:
    """Rewrite the page's links so that they lead to that tag of the repository."""

    def replace(link: re.Match[str]) -> str:
        if not source:
            return "" if link["picture"] else link["text"]
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['text']}]({source}/{kind}/{tag}/{link['path']})"

    return _LINK.sub(replace, page)
