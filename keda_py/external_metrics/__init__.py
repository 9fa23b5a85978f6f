"""External metrics API for the HPA: which metric of which ScaledObject, and its value.

In: requests to external.metrics.k8s.io (`server.py`), passed from stage to stage as values: `serving/` decides what is
requested and who may, `authorised_request.py` is the authorised request, `routing.py` decides who answers.
`metric_values.py` answers from `query.py`, which reads through `readings/`; `upstream.py` asks another adapter. Out:
values on the wire.
"""
