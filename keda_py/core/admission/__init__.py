"""The checks of admission: findings about an object, each a denial or a warning.

In: an object and what is known of its namespace. Out: findings (`findings.py`), for the webhook and for `validate`.
"""
