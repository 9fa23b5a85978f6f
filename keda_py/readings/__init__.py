"""Reading of scalers for all callers, confined so that one object's input cannot harm the others.

`readings.py` shares one read per trigger between polls and HPA requests. Work on one object is recorded in a journal
while it is under way, so that the next process knows what this one died of; `core/quarantine.py` judges that record,
and `operator/process/` acts on it. Formulas over readings take turns (`formula_turns.py`).
"""
