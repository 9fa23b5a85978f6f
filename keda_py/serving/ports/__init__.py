"""What every port of the process is made of, plain or TLS: its sockets, who is connected, who may work at once.

In come connections of anybody; out go those that keep the limits. `listening.py` opens the sockets, `table.py` says who
gives way when a port is full, `connection.py` is one client's HTTP connection, `gate.py` bounds costly answers. Next:
`../https.py`, the server that puts them together.
"""
