"""Our own metrics, under KEDA's names: a Prometheus page and OpenTelemetry.

In: what readings, questions, reviews and controllers tell. Out: series that end with their objects (`series.py`), on
the page (`page.py`) and pushed (`otel.py`).
"""
