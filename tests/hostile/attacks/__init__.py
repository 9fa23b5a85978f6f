"""The hostile cases, a file for each kind of hostility; `tests/hostile/cases.py` lists them all."""
