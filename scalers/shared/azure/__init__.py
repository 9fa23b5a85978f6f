"""Common parts of Azure's types: clouds, identities, connection strings, storage accounts and their signatures.

In: keys of a trigger. Out: questions that prove who asks, for the scaler's one reading.
"""
