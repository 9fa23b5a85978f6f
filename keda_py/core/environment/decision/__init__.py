"""Decisions about an environment: awake or asleep, and what each member is to do now, with one reason a row.

In: spec, calendar, overrides, members and the stored state, `now`. Out: `EnvironmentDecision`. The order of the files:
`goal.py` (awake or asleep?), `members.py` (one member, one step), `waves.py` (whose turn it is), `decision.py` (all of
it), `report.py` (the status). Next: the controller, which stores `status` first and acts then.
"""
