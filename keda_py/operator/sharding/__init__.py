"""What this replica works on where several are active: which objects, and whether a write about one may still be sent.

In: a `Membership` (`kube/leases/`) that says what is ours. Out: tenures for the controllers, and the gate that each
write passes.
"""
