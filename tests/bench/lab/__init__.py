"""What benches are made of: processes, a cluster and an operator on it, load, figures and pictures."""
