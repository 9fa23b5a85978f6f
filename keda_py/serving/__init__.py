"""How the process serves over TLS: certificates that renew themselves, who may ask, and connections with limits.

`https.py` listens for `external_metrics/server.py` and for the admission webhook; `server_tls.py` holds what is shown
and who is trusted; `renewal/` keeps that up to date; `asked.py`,
`authentication.py` and `authorisation.py` are the first stages of a question: what is asked, who asks, and whether
that caller may.
"""
