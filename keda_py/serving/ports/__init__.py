"""Parts of every port of the process, plain or TLS: sockets, connections, and the gate before costly answers.

In: connections of any client. Out: those that keep the limits. `listening.py` opens the sockets, `table.py` decides
which connections a full port drops, `connection.py` is one client's HTTP connection, `gate.py` bounds costly answers.
Next: `../https.py`, the server that combines them.
"""
