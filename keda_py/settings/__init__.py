"""Process settings: KEDA's flags and environment variables, read once at start, frozen afterwards.

In: arguments and environment. `options.py` defines an option, `parsers.py` parses single values, proxies are in
`net/proxies.py`. Out: one frozen `Settings` from `settings.py`, for `operator/app.py` and the commands.
"""
