"""The loads that simulations replay: a trace in a file, a Prometheus, or a shape of a day.

In: a path, a URL, a name. Out: sources by trigger (`load.py` says what a load is). A trace is read row by row, and what
cannot be taken as it stands is refused with its line and a remedy.
"""
