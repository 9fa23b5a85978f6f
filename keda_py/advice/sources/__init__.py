"""Where histories of use come from: a trace in a file, or a Prometheus with known or given queries.

In: a path, or a URL. Out: a history for each workload, or a sentence that says why it is missing.
"""
