"""Readings of scalers, the HPA's question, the external metrics server and our own Prometheus metrics."""
