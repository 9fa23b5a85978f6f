"""Comments `# keda-py: ignore=CODE,CODE`: which warnings they switch off for which lines of a text.

A comment counts for the YAML document that it stands in; above the first of a file, for the whole file.
"""

from itertools import accumulate

import re2

from keda_py.core.admission.codes import read_codes

_COMMENT = re2.compile(r"(?:^|\s)#\s*keda-py:\s*ignore=([a-z0-9-]+(?:\s*,\s*[a-z0-9-]+)*)")
_SEPARATOR = "---"


class Switches:
    """Switches of one text; lines count from 1."""

    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        # A separator begins the next document; what stands above all content belongs to the file.
        self._document_of = list(accumulate(int(line.startswith(_SEPARATOR)) for line in lines))
        first = next((number for number, line in enumerate(lines) if _has_content(line)), len(lines))
        self._of_file = frozenset(code for line in lines[:first] for code in _codes(line))
        self._by_document: dict[int, frozenset[str]] = {}
        for number, line in enumerate(lines[first:], first):
            if codes := _codes(line):
                document = self._document_of[number]
                self._by_document[document] = self._by_document.get(document, frozenset()) | codes

    def at(self, line: int) -> frozenset[str]:
        """Return the codes that are switched off for the object on that line."""
        document = self._document_of[line - 1] if 0 < line <= len(self._document_of) else 0
        return self._of_file | self._by_document.get(document, frozenset())


def _has_content(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith(("#", _SEPARATOR))


def _codes(line: str) -> frozenset[str]:
    found = _COMMENT.search(line) if "keda-py:" in line else None
    return read_codes(found[1]) if found else frozenset()
