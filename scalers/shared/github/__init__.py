"""GitHub's REST API: who asks, what may be asked again, and when GitHub wants no questions.

In: a token or an app's key. Out: answers that are read, for a scaler.
"""
