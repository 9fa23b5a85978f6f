"""Due times and turns: polls of one source, activations within one second.

Pure arithmetic on monotonic seconds. In: intervals, and objects that wait. Out: due times and turns. Next: `readings/`
and the operator's controllers.
"""
