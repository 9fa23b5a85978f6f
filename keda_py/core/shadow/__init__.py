"""Compare our decisions with the actions of another autoscaler: claims of both sides, and disagreements.

In: a look that changed nothing, and the object, workload and HPA as the other side left them. Out: claims, for
`operator/shadow/`, which waits before it calls two claims a disagreement.
"""
