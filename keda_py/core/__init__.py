"""The pure core: no asyncio, time, logging, os or sockets. What is decided is decided here."""
