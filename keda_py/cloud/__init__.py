"""AWS, Azure and Google: what turns an identity into a short-lived credential, for authentications and scalers alike.

In: an identity (the tenant's own secret, or the operator's), what it is for, and where that would go. Out: a session or
a source of tokens, kept under that identity and its tenant, shared by all who ask meanwhile, renewed before it ends.
An identity of the operator's goes only where the installation allows. Next: `auth/sources/`, `scalers/shared/`.
"""
