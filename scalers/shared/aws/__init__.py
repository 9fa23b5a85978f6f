"""Common parts of AWS triggers: credentials, clients of services, signed HTTP questions.

In: metadata and pod identity. Out: clients and signatures that are shared by identity.
"""
