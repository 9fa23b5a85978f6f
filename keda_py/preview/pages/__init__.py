"""A preview for people and programs: a table, a document, a picture, a calendar, what differs between two. Pure.

In: a `Preview` and a zone. Out: text.
"""
