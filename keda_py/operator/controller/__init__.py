"""One controller for every kind: due keys, workers, retries, what is remembered, status, finalizer, record.

In: watch events, timers and questions, which only make a key due. Out: one call at a time and object into the kind's
package (`scaled_objects/`, `scaled_jobs/`), which reconciles, looks or finalizes.
"""
