"""Our own metrics, under KEDA's names: a Prometheus page and OpenTelemetry.

In: reports of readings, HPA requests, reviews and controllers. Out: series that end with their objects (`series.py`),
on the page (`page.py`) and pushed (`otel.py`).
"""
