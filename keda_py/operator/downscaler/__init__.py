"""Annotations of py-kube-downscaler, obeyed if `--downscaler-annotations` is on, so that manifests need no rewrite.

In: workloads and namespaces with such annotations (`caches.py`). Out: counts, with the original count in the annotation
in which py-kube-downscaler keeps it, and overlays of ScaledObjects. `core/environment/downscaler/` decides; begin at
`sweep.py`.
"""
