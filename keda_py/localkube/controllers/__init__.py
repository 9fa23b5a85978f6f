"""What keeps the embedded cluster's objects alive: the controllers of a real control plane, on store events.

`shared/loop.py` hands each event to the controllers that care and works their keys one at a time; `cluster.py` of the
package above lists them. A controller reads and writes through the store alone, synchronously; only the HPA controller,
which asks metrics over HTTPS, is asynchronous. Nothing here polls: time passes through the `Clock`'s timers.
"""
