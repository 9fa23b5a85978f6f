"""Selenium Grid's answers: which requests, slots and sessions are of the kind of node that a trigger scales.

In: the text of an answer. Out: a count of nodes, for `selenium_grid.py`.
"""
