"""Leader election on Leases: one for the leader, and with shards one slot for each active replica.

`lease.py` holds the main Lease and `lease_record.py` is its content; `membership.py` holds a slot and `slots.py` is the
content of its Lease. In: a client and an identity. Out: whether this process may write, and the holder's address.
"""
