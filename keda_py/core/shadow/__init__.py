"""What we would do beside what another autoscaler does: each claim of both sides, and which of them disagree.

In: a look that changed nothing, and the object, workload and HPA as the other side left them. Out: claims, for
`operator/shadow/`, which waits before it calls two claims a disagreement.
"""
