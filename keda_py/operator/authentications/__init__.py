"""TriggerAuthentications and ClusterTriggerAuthentications: finalizer, Events, and who uses them.

In: the objects, and the references of ScaledObjects and ScaledJobs. Out: their status.
"""
