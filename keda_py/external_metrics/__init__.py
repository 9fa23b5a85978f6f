"""The HPA's question: which metric of which ScaledObject, and what it is worth.

In: requests to external.metrics.k8s.io (`server.py`), their callers judged by `serving/`. `question.py` reads one,
`query.py` answers it from `readings/`, `upstream.py` asks another adapter. Out: values on the wire.
"""
