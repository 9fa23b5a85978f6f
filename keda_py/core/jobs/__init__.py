"""ScaledJobs, decided: what is wanted (`spec.py`), how many Jobs that makes (`counts.py`), and the Job itself.

In: a ScaledJob, what its triggers measured, the Jobs there are. Out: numbers, manifests and conditions for
`operator/scaled_jobs/`, which applies them.
"""
