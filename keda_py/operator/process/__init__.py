"""What keeps one process, and all replicas, alive whatever an object does to it.

In: work on a due object, from the queue, and questions of the HPA. Out: the same, written down in the journal; or, for
an object that a process died of, a status that says so. A loop that hangs is ended from a thread or by the kernel.
Next: `operator/controller/controller.py` does the work, `readings/journal.py` writes it down.
"""
