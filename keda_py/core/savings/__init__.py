"""Savings by sleeping: replica-seconds against a stated counterfactual.

In: counts and instants of looks, and the sums stored in a status. Out: sums by month for `status.kedaPySavings`,
metrics and `keda-py savings`. Pure.
"""
