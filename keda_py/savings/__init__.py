"""`keda-py savings`: what sleeping has saved, as the statuses of a cluster tell.

In: a kubeconfig, a month, prices. Out: a table or a document. The arithmetic is in `core/savings/`.
"""
