"""The decision about one object by its annotations.

The order: left out by name or namespace; forced by the namespace or a pod; excluded (then only given back); awake,
asleep or neither, by periods or by uptime and downtime; then up, down, or as it is. The count of before is kept in the
annotation `downscaler/original-replicas`, so that a cluster can be taken over and given back in the middle of a night.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import re2

from keda_py.core.environment.downscaler.kinds import RULES, Fields
from keda_py.core.environment.downscaler.timespecs import ALWAYS, NEVER, SpecDefaults, matches
from keda_py.core.environment.downscaler.values import Amount, parse_amount, parse_date, parse_seconds
from keda_py.errors import ConfigError

PREFIX = "downscaler/"
ORIGINAL = f"{PREFIX}original-replicas"
ORIGINAL_PAUSE = f"{PREFIX}original-pause-replicas"
PAUSED = "autoscaling.keda.sh/paused-replicas"
_OVER = ("Succeeded", "Failed")
"""Phases of pods that force nothing up."""
Annotations = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownscalerSettings:
    """The program's settings; `exclude_namespaces` and `matching_labels` are regular expressions for the whole."""

    uptime: str = ALWAYS
    downtime: str = NEVER
    upscale_period: str = NEVER
    downscale_period: str = NEVER
    downtime_replicas: str = "0"
    grace: timedelta = timedelta(minutes=15)
    namespaces: frozenset[str] = frozenset()
    """Only these, also if they are excluded; all if it is empty."""
    exclude_namespaces: tuple[str, ...] = ("kube-system",)
    exclude_names: frozenset[str] = frozenset({"py-kube-downscaler", "kube-downscaler", "downscaler"})
    matching_labels: tuple[str, ...] = ()
    include_kinds: frozenset[str] = frozenset()
    """The kinds that are scaled; all that are understood if it is empty."""
    upscale_target_only: bool = False
    """True if what is excluded is not given back either."""
    deployment_time_annotation: str = ""
    defaults: SpecDefaults = field(default_factory=SpecDefaults)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedObject:
    """An object with the fields that `kinds.py` names."""

    kind: str
    namespace: str
    name: str
    created: datetime
    annotations: Annotations = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    owner_kinds: tuple[str, ...] = ()
    fields: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """An Override, which goes before all annotations; with `up` None the object is left as it is."""

    up: bool | None
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DownscaleInputs:
    """The object's namespace, whether a pod forces everything up (`is_forcing`), and an Override of the object."""

    annotations: Annotations = field(default_factory=dict)
    pod_forces_uptime: bool = False
    override: Override | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredFields:
    """Fields and annotations afterwards. `sleeps_at` is for ScaledObjects: the count to hold them at, None: awake."""

    fields: Fields
    annotations: Annotations
    changed: bool = False
    sleeps_at: int | None = None
    because: str = ""


def is_forcing(phase: str, annotations: Annotations) -> bool:
    """Return whether a pod of a watched namespace forces everything up, in all of them."""
    return phase not in _OVER and annotations.get(f"{PREFIX}force-uptime", "").lower() == "true"


def decide(obj: AnnotatedObject, around: DownscaleInputs, settings: DownscalerSettings, now: datetime) -> DesiredFields:
    """Decide what is to be written. Raises ConfigError for an unreadable annotation: then nothing is written."""
    unchanged = DesiredFields(fields=obj.fields, annotations=obj.annotations)
    if _is_out_of_sight(obj, settings):
        return unchanged
    run = _Run(obj, around, settings, now)
    run.check_namespace()
    run.read_amounts()
    if (override := around.override) is not None:
        return replace(unchanged, because=override.because) if override.up is None else run.overridden(override)
    if run.is_excluded():
        return replace(unchanged, because="excluded") if settings.upscale_target_only else run.up("excluded")
    wanted = run.is_wanted_up()
    run.level()
    if wanted is None:
        kept = run.held_at() if obj.kind == "ScaledObject" else None
        return replace(unchanged, sleeps_at=kept, because="in neither period, or in both")
    return run.up("uptime") if wanted else run.down()


def _is_out_of_sight(obj: AnnotatedObject, settings: DownscalerSettings) -> bool:
    known = obj.kind in RULES or obj.kind == "ScaledObject"
    if not known or (settings.include_kinds and obj.kind not in settings.include_kinds):
        return True
    # A Job belongs to its owner, whatever that is.
    if obj.name in settings.exclude_names or (obj.kind == "Job" and obj.owner_kinds):
        return True
    if settings.namespaces:
        return obj.namespace not in settings.namespaces
    return any(_pattern(each).fullmatch(obj.namespace) for each in settings.exclude_namespaces)


def _pattern(text: str) -> "re2._Regexp[str]":
    try:
        return re2.compile(text)
    except re2.error:
        raise ConfigError(f"{text[:100]!r} is not a regular expression; mend it", field="excludeNamespaces") from None


class _Run:
    """One object's annotations, asked in the program's order."""

    def __init__(
        self, obj: AnnotatedObject, around: DownscaleInputs, settings: DownscalerSettings, now: datetime
    ) -> None:
        self._obj, self._around, self._settings, self._now = obj, around, settings, now
        self._downtime = self._night = Amount(0)
        self._original: Amount | None = None

    def check_namespace(self) -> None:
        """Read the namespace's annotations before its objects: a mistake there stops all of them."""
        text = self._around.annotations.get(f"{PREFIX}downtime-replicas", self._settings.downtime_replicas)
        self._downtime = parse_amount(text, field=f"{PREFIX}downtime-replicas of the namespace")
        self._forced = self._forced_up()

    def _forced_up(self) -> bool | None:
        """Return True if it is forced up, False if it is forced down, None if neither."""
        up = self._forced_word("force-uptime", otherwise=self._around.pod_forces_uptime)
        down = self._forced_word("force-downtime", otherwise=False)
        return True if up else False if down else None

    def _forced_word(self, name: str, *, otherwise: bool) -> bool:
        """Read a flag of the namespace, whose empty text says no; `otherwise` without one."""
        text = self._around.annotations.get(f"{PREFIX}{name}")
        if text is None:
            return otherwise
        if text.lower() in ("true", "false", ""):
            return text.lower() == "true"
        return matches(text, self._now, self._settings.defaults, field=f"{PREFIX}{name} of the namespace")

    def is_excluded(self) -> bool:
        """Return whether it is excluded by annotation, labels, or an owner that is put down itself."""
        if any(self._settings.matching_labels) and not self._has_labels():
            return True
        if self._obj.kind == "Deployment" and "Stack" in self._obj.owner_kinds:
            return True  # the Stack is put down
        return any(self._excludes(annotations) for annotations in (self._obj.annotations, self._around.annotations))

    def _has_labels(self) -> bool:
        pairs = [f"{key}={value}" for key, value in self._obj.labels.items()]
        patterns = [_pattern(text) for text in self._settings.matching_labels]
        return any(pattern.fullmatch(pair) for pattern in patterns for pair in pairs)

    def _excludes(self, annotations: Annotations) -> bool:
        if annotations.get(f"{PREFIX}exclude", "false").lower() != "false":
            return True
        until = parse_date(annotations.get(f"{PREFIX}exclude-until", ""))
        return until is not None and self._now < until

    def is_wanted_up(self) -> bool | None:
        """Return whether it should be up; None: it is left as it is."""
        if self._forced is not None:
            return self._forced
        up, down = self._text("upscale-period"), self._text("downscale-period")
        if up != NEVER or down != NEVER:
            rises, falls = self._matches("upscale-period", up), self._matches("downscale-period", down)
            return None if rises == falls else rises
        return self._matches("uptime", self._text("uptime")) and not self._matches("downtime", self._text("downtime"))

    def _text(self, name: str) -> str:
        """Return the object's annotation, else the namespace's, else the setting."""
        key, setting = f"{PREFIX}{name}", getattr(self._settings, name.replace("-", "_"))
        return str(self._obj.annotations.get(key, self._around.annotations.get(key, setting)))

    def _matches(self, name: str, spec: str) -> bool:
        return matches(spec, self._now, self._settings.defaults, field=f"{PREFIX}{name}")

    def read_amounts(self) -> None:
        """Return (original replicas, downscaled replicas), also for what is excluded. Raises ConfigError."""
        annotations, key = self._obj.annotations, f"{PREFIX}downtime-replicas"
        self._original = None
        if ORIGINAL in annotations:
            self._original = parse_amount(annotations[ORIGINAL], field=ORIGINAL, signed=True)
        self._night = parse_amount(annotations[key], field=key) if key in annotations else self._downtime

    def level(self) -> Amount:
        """Return the count now; -1 is a ScaledObject that is not paused. Raises ConfigError."""
        if self._obj.kind != "ScaledObject":
            return RULES[self._obj.kind].level(self._obj.fields)
        return parse_amount(self._obj.annotations.get(PAUSED, "-1"), field=PAUSED, signed=True)

    def overridden(self, override: Override) -> DesiredFields:
        """Scale up or down at once, however new it is."""
        if override.up:
            return self.up(override.because)
        self._settings = replace(self._settings, grace=timedelta(-1))
        return replace(self.down(), because=override.because)

    def up(self, because: str) -> DesiredFields:
        """Give the original replicas back, if it is down as it was put or has that count already."""
        original, night = self._original, self._night
        if original is None or (original.number <= 0 and original.number != -1):
            return self._keep(because)
        level = self.level()
        if level.number == night.number:
            return self._restored(original, because)
        if level.number == original.number:
            return self._changed(self._obj.fields, because)
        return self._keep("paused by its owner" if self._obj.kind == "ScaledObject" else because)

    def _restored(self, original: Amount, because: str) -> DesiredFields:
        rules = RULES.get(self._obj.kind)
        if original.percent and not (rules and rules.percent):
            return self._keep("a percentage has no meaning for it")
        if rules is None:
            return self._woken(because)
        return self._changed(rules.restore(self._obj.fields, original), because)

    def down(self) -> DesiredFields:
        """Scale to the downscaled replicas, if there are more and the object is not new."""
        night = self._night
        if self._obj.kind == "ScaledObject":
            return self._sleep(night)
        rules, level = RULES[self._obj.kind], self.level()
        is_up = level.number == -1 or level.number > night.number
        if not is_up or (night.percent and not rules.percent):
            return self._keep("downtime" if not is_up else "a percentage has no meaning for it")
        if self._is_young():
            return self._keep("created or deployed a moment ago")
        annotations = {**self._obj.annotations, ORIGINAL: level.text}
        return DesiredFields(
            fields=rules.lower(self._obj.fields, night), annotations=annotations, changed=True, because="downtime"
        )

    def _is_young(self) -> bool:
        grace = self._settings.grace
        own = parse_seconds(self._obj.annotations.get(f"{PREFIX}grace-period", ""))
        if own is not None and timedelta(0) < own <= grace:
            grace = own
        deployed = parse_date(self._obj.annotations.get(self._settings.deployment_time_annotation, ""))
        return any(self._now - since <= grace for since in (self._obj.created, deployed) if since is not None)

    def _keep(self, because: str) -> DesiredFields:
        return DesiredFields(fields=self._obj.fields, annotations=self._obj.annotations, because=because)

    def _changed(self, fields: Fields, because: str) -> DesiredFields:
        annotations = {key: text for key, text in self._obj.annotations.items() if key != ORIGINAL}
        return DesiredFields(fields=fields, annotations=annotations, changed=True, because=because)

    def held_at(self) -> int | None:
        """Return the count at which the program itself has paused a ScaledObject."""
        text = self._obj.annotations.get(PAUSED, "") if ORIGINAL in self._obj.annotations else ""
        return parse_amount(text, field=PAUSED).number if text else None

    def _sleep(self, night: Amount) -> DesiredFields:
        """Put a ScaledObject down by an overlay, not by an annotation; one that its owner paused stays as it is."""
        by_owner = PAUSED in self._obj.annotations and ORIGINAL not in self._obj.annotations
        if by_owner or night.percent:
            return self._keep("paused by its owner" if by_owner else "a percentage has no meaning for it")
        if self._is_young():
            return self._keep("created or deployed a moment ago")
        return replace(self._keep("downtime"), sleeps_at=night.number)

    def _woken(self, because: str) -> DesiredFields:
        """Take away what the program had written: its pause; or give the owner's pause back."""
        written = (ORIGINAL, ORIGINAL_PAUSE, PAUSED)
        annotations = {key: text for key, text in self._obj.annotations.items() if key not in written}
        if ORIGINAL_PAUSE in self._obj.annotations:
            annotations[PAUSED] = self._obj.annotations[ORIGINAL_PAUSE]
        return DesiredFields(fields=self._obj.fields, annotations=annotations, changed=True, because=because)
