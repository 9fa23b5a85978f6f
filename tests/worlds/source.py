"""The source of numbers that most triggers of a world ask."""

from dataclasses import dataclass

from tests.http_server import HttpServer


@dataclass(kw_only=True)
class Source:
    """A path of `server`, which tests may use for other answers as well; None in worlds without one."""

    server: HttpServer | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"{self.server.url}/jobs"

    def jobs(self, count: float) -> None:
        """What the source answers from now on."""
        assert self.server is not None
        self.server.answers["/jobs"] = f'{{"value": {count}}}'
