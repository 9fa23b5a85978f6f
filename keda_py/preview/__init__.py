"""What schedules will do: `keda-py preview`.

In: manifests, of files or a cluster, and a period. Out: for each ScaledObject, Environment and scheduled workload the
counts that it will have, why, and what they sum up to. `reading/` finds manifests and period, `keda_py/replay` makes
plans of them and lets the operator's own core decide over time, `pages/` prints; `command.py` is all three.
"""
