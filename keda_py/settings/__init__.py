"""Process settings: KEDA's flags and environment variables, read once at start, frozen afterwards.

In: arguments and environment. `options.py` says what one option is, `parsers.py` reads single values, `proxies` of HTTP
are `net/proxies.py`. Out: one frozen `Settings`, from `settings.py`, which `operator/app.py` and the commands are
given.
"""
