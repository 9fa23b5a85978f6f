"""Commands that are processes beside the operator: the embedded cluster, and the waker."""
