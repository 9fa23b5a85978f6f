"""Private keys and certificates of tenants, checked before anything computes with them.

In: PEM texts. Out: keys and certificates of bounded cost, for `net/tls.py` and for signatures.
"""
