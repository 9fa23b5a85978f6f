"""Decisions about ScaledJobs: their specs (`spec.py`), how many Jobs to create (`counts.py`), and the Job manifest.

In: a ScaledJob, the readings of its triggers, the existing Jobs. Out: numbers, manifests and conditions for
`operator/scaled_jobs/`, which applies them.
"""
