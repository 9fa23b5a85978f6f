"""What a manifest will do that its author may not mean: warnings with codes, and windows in words.

In: a spec, or what files hold beside it. Out: warnings for `keda-py validate`, `migrate check`, admission and
`explain`; each has a code of `core/admission/codes.py` and a row in CHECKS.md, and can be switched off. Nothing here is
refused. The order to read: `windows.py` (one window), `window_pairs.py` (several), `scaled_object.py` (the whole).
"""
