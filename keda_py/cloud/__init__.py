"""AWS, Azure and Google: exchange of an identity for short-lived credentials, for authentications and scalers.

In: an identity (the tenant's own secret, or the operator's), its purpose, and the address that would receive it. Out: a
session or a token source, cached under that identity and its tenant, shared by concurrent callers, renewed before it
expires. The operator's identity goes only where the installation allows. Next: `auth/sources/`, `scalers/shared/`.
"""
