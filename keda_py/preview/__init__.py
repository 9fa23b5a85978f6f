"""`keda-py preview`: what schedules will do.

In: manifests, of files or a cluster, and a period. Out: for each ScaledObject, Environment and scheduled workload the
counts that it will have, why, and what they sum up to. `keda_py/replay` makes plans of the manifests and lets the
operator's own core decide over time, `pages/` prints; `command.py` does one after the other.
"""
