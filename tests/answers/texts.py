"""Functions of a text, as a scaler's are, for the worker process in tests."""

import os
import signal
import sys
from collections.abc import Mapping

from keda_py.errors import ScalerError

MIB = 2**20


def length(text: bytes | str, *more: object) -> list[object]:
    return [len(text), type(text).__name__, *more]


def bytecode_folder(text: bytes) -> str | None:
    return sys.pycache_prefix


def process_id(text: bytes) -> int:
    return os.getpid()


def refuse(text: bytes) -> None:
    raise ScalerError("it says nothing")


def stumble(text: bytes) -> None:
    raise RecursionError("s3cret")


def spin(text: bytes) -> None:
    while True:
        pass


def work(text: bytes) -> int:
    return sum(range(int(text)))


def wait(text: bytes) -> None:
    signal.pause()


def eat(text: bytes) -> int:
    return len(b"".join(bytes([1]) * MIB for _ in range(int(text))))


_kept: list[bytes] = []


def hoard(text: bytes) -> int:
    _kept.append(bytes([1]) * int(text) * MIB)
    return len(_kept)


def crash(text: bytes) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(text: bytes) -> None:
    os._exit(3)


def chatter(text: bytes) -> str:
    print("x" * 1000)  # noqa: T201 - that is the point
    return "said"


def babble(text: bytes) -> str:
    return "x" * MIB


def surroundings(text: bytes) -> list[object]:
    variables: Mapping[str, str] = os.environ
    return [sorted(variables), os.getcwd(), sorted(os.listdir("/proc/self/fd"))]
