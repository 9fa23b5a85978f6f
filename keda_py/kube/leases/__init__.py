"""Leader election on a Lease: `lease.py` holds it, `lease_record.py` is what it says.

Where several replicas are active each holds a slot as well: `membership.py`, and `slots.py` for what its Lease says.

In: a client and an identity. Out: whether this process may write, and where the holder serves.
"""
