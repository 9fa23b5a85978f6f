"""Differences from recorded cases that are meant: `differences/<trigger type>.toml`, with the reason of each.

A file has the tables `metadata` and `http` (the corpora), each `"name of the case" = "why"`. An entry that is not needed
any more fails the test, as one that is missing does.
"""

import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "differences"


@cache
def listed(corpus: str, trigger_type: str) -> Mapping[str, str]:
    """Reason by case."""
    file = FOLDER / f"{trigger_type}.toml"
    if not file.exists():
        return {}
    found: Mapping[str, Mapping[str, str]] = tomllib.loads(file.read_text(encoding="utf-8"))
    return found.get(corpus, {})


def check_differences(
    corpus: str, trigger_type: str, found: Mapping[str, str], played: Collection[str], others: Collection[str] = ()
) -> None:
    """`found` are the cases that differ, and how; `others` were not played.

    Raises AssertionError for one that is not listed, or listed in vain.
    """
    __tracebackhide__ = True
    known = listed(corpus, trigger_type)
    new = [f"{case}: {how}" for case, how in found.items() if case not in known]
    stale = [case for case in known if case in played and case not in found]
    unknown = [case for case in known if case not in played and case not in others]
    assert not new, f"{len(new)} of {len(played)} cases of {trigger_type} differ:\n" + "\n".join(new)
    assert not stale, f"listed, but equal: {stale}"
    assert not unknown, f"no such case: {unknown}"
