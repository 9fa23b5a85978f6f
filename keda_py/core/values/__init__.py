"""Values of Kubernetes and of users, parsed from text: quantities, label selectors, addresses.

In: text. Out: numbers in whole milli, selectors that match labels; or a ValueError or ConfigError that says what is
accepted.
"""
