"""Scalers that ask a database one query: PostgreSQL, MySQL, SQL Server, Cassandra, MongoDB.

In: a query and where to send it. Out: the only cell of the first row, or a count of documents. `queries/scaler.py` is
what all but MongoDB have in common, `queries/pool.py` keeps a few connections for each database and credential, and the
files of this folder speak one dialect each.
"""
