"""Frames of HTTP/2 in pieces of any size."""

from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.waking.http2 import LEAVE, SETTINGS, AcknowledgedSettings, FrameEnds

ACK = bytes((0, 0, 0, 4, 1, 0, 0, 0, 0))


def frame(kind: int, payload: bytes, stream: int = 1) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, 0)) + stream.to_bytes(4, "big") + payload


FRAMES = st.lists(st.builds(frame, st.sampled_from([0, 1, 6, 8]), st.binary(max_size=20)), max_size=6)
CUTS = st.lists(st.integers(1, 30), min_size=1, max_size=40)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        size = cuts[len(found) % len(cuts)]
        found.append(data[at : at + size])
        at += size
    return found


@given(FRAMES, FRAMES, CUTS)
def test_the_answer_to_our_settings_is_taken_out_and_nothing_else(
    before: list[bytes], after: list[bytes], cuts: list[int]
) -> None:
    first, rest = frame(4, b"\0" * 6, 0) + b"".join(before), b"".join(after)
    filtered = AcknowledgedSettings()
    passed = b"".join(map(filtered.feed, pieces(first + ACK + rest + ACK, cuts)))
    assert filtered.is_done
    assert passed == first + rest + ACK  # the second answers the pod's


@given(FRAMES, CUTS)
def test_a_frame_of_ours_stands_between_two_of_the_pods(frames: list[bytes], cuts: list[int]) -> None:
    ends, at, whole = FrameEnds(), 0, b"".join(frames)
    boundaries = {sum(map(len, frames[:count])) for count in range(1, len(frames) + 1)}
    for piece in pieces(whole, cuts):
        found = ends.feed(piece)
        within = {edge for edge in boundaries if at < edge <= at + len(piece)}
        assert found == (max(within) - at if within else -1)
        at += len(piece)
    assert ends.between


def test_ours_are_whole_frames() -> None:
    for ours in (SETTINGS, LEAVE):
        ends = FrameEnds()
        assert ends.feed(ours) == len(ours)
