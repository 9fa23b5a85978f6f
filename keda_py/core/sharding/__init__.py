"""Who owns which objects where several replicas write: views, agreement and hashing, without I/O.

In: what the slots' Leases say. Out: a `Share`, which says of each key whether it is ours.
"""
