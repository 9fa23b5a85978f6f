"""When something may be done, and whose turn it is: polls of a source, activations of a second.

Pure arithmetic on monotonic seconds. In: intervals, and who asks. Out: due times and turns. Next: `readings/` and the
operator's controllers.
"""
