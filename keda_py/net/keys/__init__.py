"""Private keys and certificates that tenants bring: looked at before anything computes with them.

In: PEM texts. Out: keys and certificates of bounded cost, for `net/tls.py` and for signatures.
"""
