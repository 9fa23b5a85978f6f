"""What schedules will do: `keda-py preview`.

In: manifests, of files or a cluster, and a period. Out: for each ScaledObject, Environment and scheduled workload the
counts that it will have, why, and what they sum up to. `reading/` makes plans of manifests, `replay/` lets the
operator's own core decide over time, `pages/` prints; `command.py` is all three.
"""
