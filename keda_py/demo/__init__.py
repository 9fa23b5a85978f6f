"""`keda-py demo`: four days of the main job, or a week of an environment, on the embedded cluster in under a minute."""
