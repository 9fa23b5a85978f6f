"""Environments: calendars, overrides, schedules, and what each member is to do now, and why. Pure.

In: wire objects of `apis/environments/`, what was seen, and `now`. Out: `EnvironmentDecision` (`decision/`), overlays
of a ScalingSpec (`scaling/`). Next: the controllers, which store a decision's state before they do what it says.
"""
