"""`keda-py env`, `wake`, `sleep`, `hold` and `release`: environments for people, with the rights of the user who asks.

In: Environments, Overrides and workloads as the API server has them; no operator needs to answer. Out: pages of text,
Overrides, and counts that are given back by hand. Rules about time and members are those of `core/environment/`.
"""
