"""Diagnoses: the object that fights, what it does to which members, and the lines to add to it.

A diagnosis names one object for all its members, because the user edits that object once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import yaml

from keda_py.apis.foreign import title_of
from keda_py.doctor.members import Member
from keda_py.kube.resources import Obj


class Urgency(StrEnum):
    """Urgency of a diagnosis, the most urgent first: it fights now, it cannot be known, or it matters at times."""

    FIGHTS = "fights"
    UNKNOWN = "unknown"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What `object`, as in "Application argocd/shop", does to `members`.

    `lines` are YAML to merge into the object that `add_to` names, "" if there is nothing to add.
    """

    urgency: Urgency
    object: str
    message: str
    members: tuple[str, ...] = ()
    remedy: str = ""
    add_to: str = ""
    lines: str = ""


def diagnose(
    body: Obj,
    message: str,
    members: Sequence[Member] = (),
    *,
    urgency: Urgency = Urgency.FIGHTS,
    lines: Any = None,
    remedy: str = "",
) -> Diagnosis:
    """Make the diagnosis of an object whose remedy stands in that object itself; `lines` is a part of its manifest."""
    title = title_of(body)
    return Diagnosis(
        urgency=urgency,
        object=title,
        message=message,
        members=tuple(member.title for member in members),
        remedy=remedy,
        add_to=title if lines else "",
        lines=write_lines(lines) if lines else "",
    )


def write_lines(part: Any) -> str:
    """Write a part of a manifest as YAML in the order given; names that YAML would misread are quoted."""
    written: str = yaml.safe_dump(part, sort_keys=False, default_flow_style=False, allow_unicode=False, width=1000)
    return written
