"""The journal's entries as bytes, damaged ones included."""

from hypothesis import given
from hypothesis import strategies as st

from keda_py.core.quarantine import Mark, Trace, Work
from keda_py.core.values.object_key import ObjectKey
from keda_py.readings.journal import Journal
from keda_py.readings.journal_bytes import HEADER, MAGIC, SIZE, SLOT, pack, read
from tests.readings.journals import APP, NOW, OTHER

NAMES = st.text("abc-.0", min_size=1, max_size=253)


@given(namespace=st.text("abc-0", min_size=1, max_size=63), name=NAMES, edition=st.integers(0, 2**32 - 1))
def test_an_entry_is_read_as_it_was_written(namespace: str, name: str, edition: int) -> None:
    work = Work(ObjectKey("ScaledJob", namespace, name), edition)
    content = MAGIC.ljust(HEADER, b"\0") + bytes([Mark.HELD, 0, 0, 0, 5, 0, 0, 0]) + pack(work, 3, NOW, 600)
    assert read(content) == (0, (Trace(work=work, mark=Mark.HELD, group=5, deaths=3, died=NOW, seconds=600),))


@given(content=st.binary(max_size=HEADER + 3 * SLOT))
def test_any_bytes_are_read_without_an_error(content: bytes) -> None:
    read(content)
    read(MAGIC + content)


@given(at=st.integers(0, HEADER + 2 * SLOT - 1), value=st.integers(0, 255), length=st.integers(0, HEADER + 2 * SLOT))
def test_a_journal_that_was_damaged_gives_no_other_object_than_was_written(at: int, value: int, length: int) -> None:
    entry = bytes([Mark.UNDER_WAY, 0, 0, 0, 1, 0, 0, 0])
    content = bytearray(MAGIC.ljust(HEADER, b"\0") + entry + pack(APP) + entry + pack(OTHER))
    content[at] = value
    assert {trace.work for trace in read(bytes(content[:length]))[1]} <= {APP, OTHER}


@given(content=st.binary(max_size=3 * SLOT))
def test_a_journal_of_any_bytes_can_be_gone_on_with(content: bytes) -> None:
    memory = bytearray((MAGIC + content).ljust(SIZE, b"\0"))
    journal = Journal(memoryview(memory), NOW)
    assert all(hold.until <= NOW + 3600 for hold in journal.inherited)
    assert len(read(bytes(memory))[1]) == len(journal.inherited)
