"""An event loop whose own time can be set forward: waiting for I/O time-outs and back-offs costs a test nothing."""

import asyncio


class JumpingLoop(asyncio.SelectorEventLoop):
    """Real time, plus `ahead` seconds."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead
