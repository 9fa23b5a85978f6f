"""Calendars: hours, holidays and exceptions, and when each opens and closes.

In: a `CalendarSpec` and the holidays that `keda_py/calendars/` looked up. Out: a `Calendar` (`reading.py`), and answers
to its questions (`queries.py`): is it open, what changes next, and why.
"""
