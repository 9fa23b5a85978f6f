"""`keda-py waker`: holds connections to Services that sleep, asks for their wake, and passes them on to pods.

In: EndpointSlices that the operator writes (`directory.py`) and connections of any client (`connection.py`). Out: calls
for a wake (`wake_calls.py`), pages, and bytes between client and pod. What a connection speaks, and what it is
answered, is decided in `keda_py/core/waking/`; nothing here decides whether something wakes, which is the operator's.
"""
