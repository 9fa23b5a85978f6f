"""Serving over TLS: certificates that renew themselves, authentication and authorisation, connections with limits.

`https.py` listens for `external_metrics/server.py`, `ports/small_http.py` for the admission webhook; `server_tls.py`
holds the certificate and the trusted authorities; `renewal/` keeps them up to date. `api_request.py`,
`authentication.py` and `authorisation.py` are the first stages of a request: what is requested, by whom, and whether
the caller may do that.
"""
