"""Decisions that are kept: in memory for `explain` (`record.py`), for a day in the object's status (`history.py`).

Entries come from looks (`controller/after_look.py`); the status writer carries them, `explain` and the page read them.
"""
