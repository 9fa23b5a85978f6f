"""The meaning of a manifest in words: warnings about likely mistakes, windows, and causes of changes.

In: a spec, or the objects in the files beside it. Out: warnings for `keda-py validate`, `migrate check`, admission and
`explain`; each has a code of `core/admission/codes.py` and a row in CHECKS.md, and can be switched off. Nothing here is
refused. The order to read: `windows.py` (one window), `scaled_object.py` (several, and the whole).
`causes.py` says why a decision changed a count, for the decision record and for previews.
"""
