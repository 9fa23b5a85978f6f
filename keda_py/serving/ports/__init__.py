"""Parts of every port of the process, plain or TLS: sockets, connections, and the gate before costly answers.

In: connections of any client. Out: those that keep the limits. `listening.py` opens the sockets, `port.py` accepts and
times connections, `table.py` decides which of them a full port drops, `gate.py` bounds costly answers. A connection
speaks HTTP by aiohttp (`connection.py`, under `../https.py`) or, in the webhook's process, by h11 (`small_http.py`).
"""
