"""One call into a scaler, confined: bounded in time, and whatever it raises becomes a ConfigError or a ScalerError.

Their texts are bounded, too, and can be written as UTF-8: they go into a status, an Event and the log, and may repeat
what a tenant or a source wrote.
"""

import asyncio
import os
import traceback
from collections.abc import Awaitable
from typing import TypeVar

import httpx

from keda_py.answers.servers import Asked, noting
from keda_py.errors import ConfigError, KubeError, ScalerError, forget_frames
from keda_py.sdk.http_failures import failure_of

T = TypeVar("T")

LONGEST_TEXT = 2000
"""Characters of an error."""


async def guard(call: Awaitable[T], timeout: float, *, what: str) -> T:
    """The call's result. Raises ConfigError as it is, and ScalerError for everything else, a time-out included.

    That one names the server that was asked last: the scaler could not do so itself. What failed of a request or a
    connection is told as the built-in scalers tell it.
    Of any other unexpected exception only the type is shown: its text may repeat a URL or header with a secret in it.
    """
    asked = Asked()
    try:
        with noting() as asked:
            async with asyncio.timeout(timeout):
                return await call
    except (ConfigError, ScalerError) as error:
        shorten(error)
        forget_frames(error)
        raise
    except TimeoutError as error:
        forget_frames(error)
        server = f" from {asked.server}" if asked.server else ""
        raise ScalerError(f"{what}: no answer within {timeout:g} s{server}") from None
    except asyncio.CancelledError:
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
        raise ScalerError(f"{what}: {asked.server or 'the server'}: {reason}") from None
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and must harm no other scaler
        place = _place(error)
        forget_frames(error)
        raise ScalerError(f"{what}: unexpected {type(error).__name__} at {place}") from None


def shorten(error: ConfigError | ScalerError) -> None:
    """Cut its text, in place; what is no character, half of a pair of surrogates, becomes a question mark."""
    text = str(error)
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}... ({len(text)} characters)"
    error.args = (text.encode("utf-8", "replace").decode(),)


def _place(error: BaseException) -> str:
    """File and line that raised: what an author needs, and never a secret."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else "an unknown place"
