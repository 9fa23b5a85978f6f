"""Renewal of certificates: in a Secret of ours, in files of another tool, and in the objects that carry our CA.

In: stored certificates. Out: certificates to serve with, for `serving/server_tls.py`.
"""
