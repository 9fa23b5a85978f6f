"""The state that the controllers of environments read: informers, calendars with their holidays, and Overrides.

Nothing here writes. In: watches, and files of ConfigMaps and Secrets. Next: the kinds, such as `../kind.py`.
"""
