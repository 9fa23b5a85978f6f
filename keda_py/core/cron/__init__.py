"""Schedules: cron expressions (`fields.py`) and the windows that a pair of them opens (`windows.py`).

In: expressions and a time zone. Out: whether it is open at a moment, and when that changes next, for the cron scaler;
and without a moment, for people: when it opens in a week (`openings.py`), in words (`words.py`), and which of its
boundaries summer time skips (`gaps.py`).
"""
