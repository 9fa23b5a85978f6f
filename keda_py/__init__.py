"""keda-py: event-driven autoscaling for Kubernetes.

A newcomer reads seven files: `apis/scaled_object.py` -> `core/spec.py` -> `core/decision.py` ->
`operator/controller/controller.py` -> `operator/scaled_objects/look.py` -> `external_metrics/query.py` ->
`operator/app.py`.
"""

__version__ = "0.1.0"
