"""Holidays for calendars: public holidays of countries, and events of iCalendar files.

In: codes, or the bytes of a file that a tenant wrote. Out: names by date, which `core/environment/calendar/reading.py`
lays over the hours. The libraries are loaded by the first calendar that needs them.
"""
