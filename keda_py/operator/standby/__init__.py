"""Every replica serves, the Lease holder knows.

In: a question that reached a replica which does not lead, or that is for another adapter. Out: the holder's answer, or
one read here; the other adapter's answer.
"""
