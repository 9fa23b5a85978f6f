"""Parts of Kafka triggers: keys, the lag of a consumer group, questions to a cluster.

In: metadata. Out: readings. `lag.py` is pure; `cluster.py`, `connection.py` and `tokens.py` need the extra `kafka` and
are imported late, by `scaler.py`.
"""
