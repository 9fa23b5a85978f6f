"""The network below every client: names become numbers, and credentials go only where they belong.

In comes the name of a source (`names.py`) and what a request says of redirects (`redirect_rule.py`, pure). Next:
`http/transport.py` and `http/redirects.py`, which apply them.
"""
