"""Ownership of objects with several active replicas: views, agreement and hashing, without I/O.

In: the contents of the slots' Leases. Out: a `Share`, which says of each key whether it is ours.
"""
