"""The embedded cluster: an in-memory Kubernetes API server with the controllers that autoscaling needs."""
