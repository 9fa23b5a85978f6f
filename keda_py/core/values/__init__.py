"""Texts of Kubernetes and of users as values: quantities, label selectors, addresses.

In: text. Out: numbers in whole milli, selectors that match labels; or a ValueError or ConfigError that says what is
accepted.
"""
