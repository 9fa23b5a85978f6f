"""Commands about environments; what they do is in `keda_py/environments`."""
