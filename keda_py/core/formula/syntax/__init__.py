"""Formula text -> tokens -> syntax tree. `compiler.py` of the parent compiles the tree.

In: text and the bounds of `limits.py`. Out: nodes, each with its column.
"""
