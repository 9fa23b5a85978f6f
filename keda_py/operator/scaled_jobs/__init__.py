"""ScaledJobs: a Job for each piece of waiting work. `parts.py` puts the parts together."""
