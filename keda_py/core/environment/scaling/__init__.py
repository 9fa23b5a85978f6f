"""Specs of ScaledObjects under a schedule, asleep, held, or at an exact count: functions spec -> spec.

In: a ScalingSpec, and a period's bounds (`schedules.py`) or an overlay of a decision (`overlays.py`). Out: the spec to
use. Next: `core/spec_source.py`, over which the operator lays first the schedules, then the overlays.
"""
