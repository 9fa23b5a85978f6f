"""Holidays for calendars: those of countries, and those of iCalendar files.

In: codes, or the bytes of a file that a tenant wrote. Out: names by date, which `core/environment/calendar/reading.py`
lays over the hours. Both libraries are loaded with the first calendar that asks for them, and not before.
"""
