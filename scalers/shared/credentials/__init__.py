"""Credentials for HTTP: a user and password, a certificate.

In: what a TriggerAuthentication holds. Out: headers and TLS contexts.
"""
