"""All hostile cases, and their list as SECURITY.md has it: `python -m tests.hostile.cases`."""

import sys
from collections.abc import Mapping, Sequence

from tests.hostile.attacks import answers, callers, credentials, crowds, environments, objects, texts
from tests.hostile.case import Case

TITLE = "Hostile cases"
GROUPS: Mapping[str, Sequence[Case]] = {
    "Texts in ConfigMaps": texts.CASES,
    "Objects and names": objects.CASES,
    "Many, and what is shared": crowds.CASES,
    "Environments": environments.CASES,
    "Answers of sources": answers.CASES,
    "Credentials sent elsewhere": credentials.CASES,
    "Callers of the ports": callers.CASES,
}
OF_OBJECTS = (*texts.CASES, *objects.CASES, *crowds.CASES, *environments.CASES)
OF_SOURCES = (*answers.CASES, *credentials.CASES)
OF_CALLERS = callers.CASES
ALL = (*OF_OBJECTS, *OF_SOURCES, *OF_CALLERS)


def render() -> str:
    """The section of SECURITY.md."""
    lines = [f"## {TITLE}", "", f"{len(ALL)} cases, let loose on a running operator by `pytest tests/hostile`.", ""]
    for title, cases in GROUPS.items():
        lines += [f"### {title} ({len(cases)})", "", "| case | what is done |", "|---|---|"]
        lines += [f"| {case.id} | {case.sentence} |" for case in cases]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(render())
