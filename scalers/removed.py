"""Trigger types that KEDA removed, with their replacement: a text each, by an entry point of its own."""

STAN = "NATS Streaming is no longer made, and KEDA has removed its trigger: use nats-jetstream"
