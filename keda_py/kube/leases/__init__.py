"""Leader election on a Lease: `lease.py` holds it, `lease_record.py` is what it says.

In: a client and an identity. Out: whether this process may write, and where the holder serves.
"""
