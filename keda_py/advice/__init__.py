"""`keda-py advise`: hours in which workloads are not used, proven on their past, as a manifest and not as a change.

In: a trace or a Prometheus, a zone, a limit. `sources/` reads histories, `proposals/` finds hours (`core/advice`) and
replays them over the same weeks with the operator's own decisions, `reports/` writes them. Nothing is written to a
cluster.
"""
