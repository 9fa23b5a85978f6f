"""`keda-py savings`: what sleeping has saved, summed up from the statuses of a cluster's objects.

In: a kubeconfig, a month, prices. Out: a table or a document. The arithmetic is in `core/savings/`.
"""
