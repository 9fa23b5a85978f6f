"""The annotations of py-kube-downscaler, obeyed where `--downscaler-annotations` is on, so that they need no rewrite.

In: workloads and namespaces with such annotations (`caches.py`). Out: counts, with that of before in an annotation as
the program itself keeps it, and overlays of ScaledObjects. `core/environment/downscaler/` decides; begin at `sweep.py`.
"""
