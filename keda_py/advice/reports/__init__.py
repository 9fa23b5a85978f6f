"""Advice for people and programs: a table, a document, manifests with their evidence, a picture, differences. Pure."""
