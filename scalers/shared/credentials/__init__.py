"""What proves who asks by HTTP: a user and password, a token of an OAuth server, a certificate.

In: what a TriggerAuthentication holds. Out: headers and sources of tokens.
"""
