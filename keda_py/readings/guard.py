"""Guard around one call into a scaler: bounded in time, with every error made a ConfigError or a ScalerError.

Error texts are bounded too and valid UTF-8: they go into a status, an Event and the log, and may repeat what a tenant
or a source wrote.
"""

import asyncio
import os
import traceback
from collections.abc import Awaitable
from typing import TypeVar

import httpx

from keda_py.answers.work_context import LastServer, working
from keda_py.errors import ConfigError, KubeError, ScalerError, forget_frames
from keda_py.sdk.http_failures import failure_of

T = TypeVar("T")

LONGEST_TEXT = 2000
"""Characters of an error text."""


async def guard(call: Awaitable[T], timeout: float, *, what: str) -> T:
    """Return the call's result. Raises ConfigError unchanged, and ScalerError for everything else, a time-out included.

    A time-out names the server of the last request, which the scaler itself could not report. A failed request or
    connection is described as the built-in scalers do. Any other unexpected exception shows only its type, because its
    text may repeat a URL or header with a secret in it.
    """
    asked = LastServer()
    try:
        with working(server=asked):
            async with asyncio.timeout(timeout):
                return await call
    except (ConfigError, ScalerError) as error:
        shorten(error)
        forget_frames(error)
        raise
    except TimeoutError as error:
        forget_frames(error)
        server = f" from {asked.name}" if asked.name else ""
        raise ScalerError(f"{what}: no answer within {timeout:g} s{server}") from None
    except asyncio.CancelledError:
        # A plug-in may cancel itself or its helpers; only a cancellation from outside may pass.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise ScalerError(f"{what}: it cancelled itself") from None
    except KubeError as error:
        forget_frames(error)
        raise ScalerError(str(error)[:LONGEST_TEXT]) from None
    except httpx.RequestError as error:
        forget_frames(error)
        failure = failure_of(error, what)
        shorten(failure)
        raise failure from None
    except ConnectionError as error:
        forget_frames(error)
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise ScalerError(f"{what}: {asked.name or 'the server'}: {reason}") from None
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and must harm no other scaler
        place = _place(error)
        forget_frames(error)
        raise ScalerError(f"{what}: unexpected {type(error).__name__} at {place}") from None


def shorten(error: ConfigError | ScalerError) -> None:
    """Cut an error's text in place; lone surrogates become question marks."""
    text = str(error)
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}... ({len(text)} characters)"
    error.args = (text.encode("utf-8", "replace").decode(),)


def _place(error: BaseException) -> str:
    """Return file and line of the error, which its author needs and which never contain a secret."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else "an unknown place"
