"""The HPA's question: which metric of which ScaledObject, and what it is worth.

In: requests to external.metrics.k8s.io (`server.py`), which passes them from stage to stage as values: what is asked
and who may ask is judged by `serving/`, `question.py` is what they want to know, `routing.py` says who answers.
`metric_values.py` answers from `query.py`, which asks `readings/`; `upstream.py` asks another adapter. Out: values on
the wire.
"""
