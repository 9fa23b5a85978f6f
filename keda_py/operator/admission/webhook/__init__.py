"""The process that answers admission reviews: callers of the webhook's port cost the leader's loop nothing.

Parsing and judging are Python that holds the interpreter: 50 000 triggers took 7 s, on the loop or beside it in a
thread. So the port is served by a process of its own. In come HTTP requests and, over a pair of sockets from the
operator, certificates and the neighbours of an object; out go verdicts, and what the operator counts and logs.

In the process: `life.py` -> `server.py` (HTTP) -> `reviews.py` (verdicts) -> `extent.py`, `judges.py`, `inquiries.py`.
On the operator's side: `../reviews.py` -> `process.py` (starts it, again when it ends) -> `../related_objects.py`.
Both: `link.py`, `orders.py`.
"""
