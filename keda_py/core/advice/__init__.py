"""Advice: the hours of a week in which a workload was not used, found in a history of its use. Pure.

In: a `History` (`history.py`), a zone, holidays. The idle floor is found (`floor.py`), each sample is marked as idle,
used or unknown (`marks.py`) and laid onto local days (`days.py`); a change of habit is dated (`habit.py`); what is idle
in most weeks becomes hours (`profile.py`, `hours.py`). Out: candidates, the shortest hours first (`candidates.py`).
Recorded starts of workloads become the order in which they have to wake (`start_order.py`).
Next: `keda_py/advice/` replays them over the same weeks. Missing data is never idle.
"""
