"""ScaledJobs: a Job for each piece of waiting work. `controller.py` puts the parts together."""
