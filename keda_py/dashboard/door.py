"""Access to the page: only for the browser that was given the address with its token, from our page, on loopback.

The token stands behind `#`, so that it reaches neither a server nor a log; the page sends it as a header, which no
other page can make a browser send without asking first, and that is refused. A name of another site that leads here
has a Host that is not ours.
"""

from secrets import compare_digest, token_urlsafe

from aiohttp import web
from aiohttp.typedefs import Handler

TOKEN = "X-Keda-Py-Token"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Door:
    """Checks each request; `port` is known once the server listens."""

    def __init__(self) -> None:
        self.token, self.port = token_urlsafe(32), 0

    @property
    def address(self) -> str:
        """Return the address with its token, for the user alone."""
        return f"http://127.0.0.1:{self.port}/#{self.token}"

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Serve the page's own files to any program on this machine, and their data only with the token."""
        why = self._why_not(request)
        return web.json_response({"error": why}, status=403) if why else await handler(request)

    async def shut(self, request: web.Request, response: web.StreamResponse) -> None:
        """Add headers, in `on_response_prepare`, that forbid framing, sniffing, caching and foreign content."""
        response.headers.update(HEADERS)

    def _why_not(self, request: web.Request) -> str:
        hosts = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")}
        # DNS rebinding: a foreign name that resolves to 127.0.0.1 arrives with that name as its Host.
        if request.host not in hosts:
            return "this is not its address"
        origin = request.headers.get("Origin")
        # Browsers send no Origin with the GET of a page, and always one with a POST.
        if origin != f"http://{request.host}" and (origin is not None or request.method == "POST"):
            return "only its own page may ask"
        token = request.headers.get(TOKEN, "").encode(errors="replace")
        # In constant time, since other programs on this machine could measure how much of a guess was right.
        if request.path.startswith("/api/") and not compare_digest(token, self.token.encode()):
            return "the token is missing or wrong; open the address that `keda-py dashboard` printed last"
        return ""
