"""Answers of monitoring services: each file picks the few numbers out of one service's JSON.

In: the text of an answer. Out: numbers and None, or a ScalerError that repeats nothing of the text but a service's own
error. Rule of `answers/` holds: these files may run in another process, so they import little, and never the SDK.
"""
