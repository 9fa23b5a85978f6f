"""The HTTP interfaces of message brokers that several trigger types ask: Jolokia, SEMP.

In: an address and a name. Out: counts.
"""
