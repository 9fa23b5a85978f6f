"""Metadata of triggers: marks on its fields, and text from three sources that becomes typed values by KEDA's rules."""
