"""Who calls, and may they: certificates, tokens, RBAC, owners, admission webhooks.

In: a request. Out: a user, or a refusal.
"""
