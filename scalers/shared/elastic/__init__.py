"""Scalers that ask a search engine: Elasticsearch, its forecasts, OpenSearch.

In: addresses, credentials, a search. Out: a number of its answer. `nodes.py` asks one node of a cluster after the
other, `search.py` is what both search scalers have in common, `elastic_connection.py` is Elastic's own log-in.
"""
