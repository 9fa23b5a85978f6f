"""Decisions that are kept: in memory for `explain` (`record.py`), for a day in the object's status (`history.py`).

Entries come from looks (`controller/after_look.py`); the status writer carries them, `explain` and the page read them.
A change has one form, which `record.describe` makes, and lists of changes are packed in one way. The places are two
because they bound different things: memory has every field within a number for the whole process, a status few fields
within the bytes that an object may cost the API server.
"""
