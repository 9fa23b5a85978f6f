"""Answers of sources, made plain values within bounds.

In: the text of an answer. Out: numbers, texts, lists and mappings, or a ScalerError that repeats nothing of the text.
Rule: these files may run in another process (`ScalerContext.parse`), so they import little, and never the SDK.
"""
