"""Truces with Applications: the entries that are added to one while members sleep, and taken back exactly.

A truce names each entry that is ours. Adding twice adds once, and taking back twice takes back once, so that a process
that was killed at any write is continued from the truces that are stored. Entries that a user wrote are never touched:
a count that is ignored already gets no entry, and only an entry that is equal to ours is taken out.

The sync option is one for the whole Application, which several Environments may need. Who holds it stands in an
annotation of the Application and not in a status: a tenant may write the status of an Environment, and must not be able
to take an option away that a user set.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keda_py.apis.environments.environment import TruceStatus
from keda_py.apis.foreign import list_at, maps_at, name_of, namespace_of, text_at, texts_at
from keda_py.core.gitops.argocd import (
    RESPECT,
    CountField,
    ignores,
    managed_places,
    respecting_options,
    respects,
    syncs_itself,
)

HOLDERS = "keda-py.dev/respect-ignore-differences-for"
"""Annotation of an Application whose sync option is ours: the Environments that need it, as NAMESPACE/NAME."""
Key = tuple[str, str]
"""(namespace, name) of an Application."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truce:
    """Entries of one Application that are ours; without any, only the sync option may be."""

    application: Key
    counts: frozenset[CountField] = frozenset()

    def sorted_counts(self) -> list[CountField]:
        return sorted(self.counts, key=lambda count: count.place)


def generator_of(application: object) -> str:
    """Return the ApplicationSet that writes the spec anew, and would take each entry away at once; "" for none."""
    owners = maps_at(application, "metadata", "ownerReferences")
    return next((text_at(one, "name") for one in owners if text_at(one, "kind") == "ApplicationSet"), "")


def plan_truces(
    applications: Iterable[object], counts: Iterable[CountField], stored: Mapping[Key, Truce]
) -> dict[Key, Truce]:
    """Return the truces that these counts need, in addition to those that are stored."""
    wanted = {count.place: count for count in counts}
    planned = dict(stored)
    for application in applications:
        managed = [wanted[place] for place in managed_places(application) if place in wanted]
        if not managed or not syncs_itself(application) or generator_of(application):
            continue
        key = namespace_of(application), name_of(application)
        known = planned.get(key, Truce(application=key))
        added = frozenset(count for count in managed if ignores(application, count) is not True)
        if added or not respects(application) or _holders(application):
            planned[key] = replace(known, counts=known.counts | added)
    return planned


def with_truce(application: object, truce: Truce, holder: str) -> dict[str, Any] | None:
    """Return the merge patch that makes the Application ignore the counts; None if it does already.

    Only workloads that it manages get an entry, whatever the stored truce says. `holder` is NAMESPACE/NAME of the
    Environment.
    """
    managed = set(managed_places(application))
    entries = list_at(application, "spec", "ignoreDifferences")
    missing = [one.entry for one in truce.sorted_counts() if one.place in managed and one.entry not in entries]
    spec: dict[str, Any] = {"ignoreDifferences": [*entries, *missing]} if missing else {}
    holders = _holders(application)
    # An option without holders is a user's, and stays theirs.
    needs = not respects(application) or (bool(holders) and holder not in holders)
    if not respects(application):
        spec["syncPolicy"] = {"syncOptions": respecting_options(application)}
    change = {"spec": spec} if spec else {}
    return {**change, **_annotated({*holders, holder})} if needs else change or None


def without_truce(application: object, truce: Truce, holder: str) -> dict[str, Any] | None:
    """Return the merge patch that takes our lines out; None if none is there. A list that is empty then goes, too."""
    before = list_at(application, "spec", "ignoreDifferences")
    entries = list(before)
    for entry in (count.entry for count in truce.sorted_counts()):
        if entry in entries:
            entries.remove(entry)
    spec: dict[str, Any] = {} if entries == before else {"ignoreDifferences": entries or None}
    holders = _holders(application)
    if holders == {holder} and respects(application):
        options = list_at(application, "spec", "syncPolicy", "syncOptions")
        spec["syncPolicy"] = {"syncOptions": [one for one in options if one != RESPECT] or None}
    change = {"spec": spec} if spec else {}
    return {**change, **_annotated(holders - {holder})} if holder in holders else change or None


def _holders(application: object) -> set[str]:
    written = texts_at(application, "metadata", "annotations").get(HOLDERS, "")
    return {one for one in written.split(",") if one}


def _annotated(holders: set[str]) -> dict[str, Any]:
    return {"metadata": {"annotations": {HOLDERS: ",".join(sorted(holders)) or None}}}


def read_truces(stored: Sequence[TruceStatus], namespace: str) -> dict[Key, Truce]:
    """Read what the status of an Environment of this namespace remembers; an entry of another shape is skipped."""
    found = {}
    for one in stored:
        of, _, name = one.application.partition("/")
        counts = frozenset(
            CountField(group=group, kind=kind, namespace=namespace, name=member, field=field)
            for group, kind, member, field in (text.split("|") for text in one.entries if text.count("|") == _BARS)
            if field in ("replicas", "suspend")
        )
        if of and name and "/" not in name:
            found[of, name] = Truce(application=(of, name), counts=counts)
    return found


_BARS = 3


def write_truces(truces: Mapping[Key, Truce]) -> list[TruceStatus]:
    """Write truces in order, so that equal ones are equal texts."""
    return [
        TruceStatus(
            application="/".join(key),
            entries=[f"{one.group}|{one.kind}|{one.name}|{one.field}" for one in truce.sorted_counts()],
        )
        for key, truce in sorted(truces.items())
    ]
