"""Scalers that ask a database one query: PostgreSQL, MySQL, SQL Server, Cassandra, MongoDB.

In: a query and where to send it. Out: the first cell of the first row, or a count of documents. `queries/pool.py` keeps one
connection for each database and credential, `queries/scaler.py` is what all but MongoDB have in common, the others speak
one dialect each.
"""
