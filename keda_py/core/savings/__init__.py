"""What sleeping saves: replica-seconds against a counterfactual that is stated.

In: counts and instants of looks, and what a status has stored. Out: sums by month for `status.kedaPySavings`, metrics
and `keda-py savings`. Pure.
"""
