"""The pure core: all decisions are made here, without asyncio, time, logging, os or sockets."""
