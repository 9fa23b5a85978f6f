"""A waker against the embedded cluster, with slices as the operator writes them, and real clients."""
