"""The formula of scalingModifiers: expr-lang 1.17 within bounds on time and memory.

In: text. `syntax/` makes a tree of it, `compiler.py` a function; `formula.py` is the door. Out: a value, or an error
that shows the column. `core/composite.py` gives it the values of triggers.
"""
