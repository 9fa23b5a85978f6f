"""Protocols that no library speaks for us: beanstalkd's text, MongoDB's wire, bare connections.

And what sources that tell of work by themselves have in common: `listening.py`.

In: an address and questions. Out: counts and texts within bounds, or a ScalerError.
"""
