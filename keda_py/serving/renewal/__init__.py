"""Certificates that renew themselves, or that others renew: Secret, files, and the objects that name our authority.

In: what is kept. Out: certificates to serve with, for `serving/server_tls.py`.
"""
