"""The wire: one file per kind, pydantic, camelCase aliases, no behaviour; the CRDs are generated from here."""
