"""Where credentials may go. The rules of this room are pure: no I/O here.

In comes what a request says of redirects (`redirect_rule.py`). Next: `http/redirects.py`, which applies it.
"""
