"""Build services: lists of jobs that wait for a runner, and GitHub's REST API with its limits.

In: a token or an app's key, and the text of answers. Out: counts of jobs, for the types that scale runners.
"""
