"""Answers of message brokers by HTTP and gRPC: Jolokia, SEMP, IBM MQ, Pulsar, liiklus, NATS, NSQ.

In: bytes, or an address and a name. Out: counts.
"""
