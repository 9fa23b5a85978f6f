"""The HorizontalPodAutoscaler: the one that we own (`manifest.py`), and the arithmetic of the controller that runs it.

In: a ScalingSpec and metrics; or an HPA's metrics, pods and rules. Out: a manifest; or how many replicas, with
conditions in the controller's words, for the embedded cluster and for every forecast.
"""
