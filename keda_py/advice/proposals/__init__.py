"""Proposals: hours found in a history, proven by a replay of the same weeks, and workloads that sleep together.

In: a workload with its history, a zone, a limit. Out: advice, which is a proposal or says why nothing is proposed.
"""
