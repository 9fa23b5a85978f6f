"""Advice in the operator: whether the hours of each Environment still fit its use, once a month.

Off without `--advise-prometheus`. The leader asks about one Environment an hour at most. `question.py` runs
`keda-py advise --diff` as a process of its own, with limits; `watch.py` stores the answer in the status and tells it.
"""
