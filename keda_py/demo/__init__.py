"""`keda-py demo`: four days of the main job on the embedded cluster, in under a minute."""
