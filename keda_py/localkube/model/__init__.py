"""The vocabulary of the embedded cluster: requests, answers, selectors, conditions, JSON paths.

Plain values without behaviour of their own; the rest of the package builds on them.
"""
