"""`pytest tests/validation --hypothesis-profile=many` tries 5000 manifests of each sort instead of 750."""

from hypothesis import settings

settings.register_profile("many", max_examples=5000)
