"""Authentication and authorisation: certificates, tokens, RBAC, owner references, admission webhooks.

In: a request. Out: a user, or a refusal.
"""
