"""Trigger types that KEDA once had, and what to use in their place: a text each, by an entry point of its own."""

STAN = "NATS Streaming is no longer made, and KEDA has removed its trigger: use nats-jetstream"
