"""Controller of TriggerAuthentications and ClusterTriggerAuthentications: finalizer, Events, and their users.

In: the objects, and the references of ScaledObjects and ScaledJobs. Out: their status.
"""
