"""`keda-py operator --shadow`: beside KEDA, or any HPA, it watches, reads and decides, and writes nothing.

In: what the operator is made of, with a client that sends no write. Out: a ledger of disagreements, each with both
sides' reasons, shown by a report on loopback and by Prometheus metrics. It serves no API, holds no Lease, has no
webhook. The deciding is that of `core/` and of `scaled_objects/observing.py`; the comparing is `core/shadow/`.
"""
