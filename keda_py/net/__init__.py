"""The network below every client: a name comes in, numbers leave; `http/` and scalers connect to them next."""
