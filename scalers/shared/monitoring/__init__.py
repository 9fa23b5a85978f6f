"""Clients of monitoring services that need more than one question or many keys: Datadog, Sumo Logic, Splunk.

In: a trigger's keys. Out: numbers, from the readers in `answers/monitoring/`. Each scaler of these is its own file.
"""
