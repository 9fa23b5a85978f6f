"""What asks scalers, and what keeps one object's input from harming the others.

In: work on one object, as a coroutine. Out: the same work, written down in a journal while it is under way, so that
the next process knows what this one died of. Next: `core/quarantine.py` judges what a dead process left, and
`operator/process/` keeps to the verdict. Formulas over readings take turns (`formula_turns.py`).
"""
