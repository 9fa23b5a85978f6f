"""`keda-py dashboard`: a page on loopback over the user's own kubeconfig and rights.

In: what the user may watch: ScaledObjects, ScaledJobs, Environments, Overrides. Out: one page, live, and the Overrides
that its buttons create in the user's name. Nothing of it runs in the cluster, and no other program on this machine and
no other page in the browser can reach it: `door.py`.
"""
