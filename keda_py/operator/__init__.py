"""Observes, decides, applies: the reconciler, the scale loop and what they write."""
