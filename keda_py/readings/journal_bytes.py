"""Binary format of a journal: a header, then slots of one size, each free or with one entry.

It is written by plain stores into shared memory and can be read after any death: an entry counts if its mark, which is
written last, is present and its checksum matches. The content is not trusted: any bytes give traces or none, never an
error.

    header  magic 8, unused 4, group on the CPU 4, unused 48
    slot    mark 1, unused 3, group 4, crc32 of the rest 4,
            kind 1, length of namespace 1, deaths 2, edition 4, died 8, seconds 4, namespace, name
"""

from struct import Struct
from zlib import crc32

from keda_py.apis.kinds.table import KINDS as TABLE
from keda_py.core.quarantine import MOST_DEATHS, Hold, Mark, Trace, Work
from keda_py.core.values.object_key import ObjectKey

MAGIC = b"kedapyJ1"
HEADER, SLOT = 64, 352
SLOTS = 4096
"""Entries under way or held back at once; further work runs unrecorded."""
# Slots that one namespace may have, so that it leaves room for others; and slots reserved for single steps of work
# without a slot: steps of one process nest, but not deeper than that.
SLOTS_OF_NAMESPACE, SPARE_SLOTS = 256, 16
SIZE = HEADER + SLOTS * SLOT
ON_CPU = 3
"""Index of the header's 32-bit cell with the group whose step is running."""

# Entries store a kind by its index here, so a new kind is appended.
KINDS = tuple(kind.name for kind in TABLE if kind.has_triggers)
LONGEST_NAMESPACE, LONGEST_NAME = 63, 253
_MARKS = frozenset(Mark)
_MARK_AND_GROUP = Struct("<BxxxI")
_CHECKSUM = Struct("<I")
_BODY = Struct("<BBHIqI")
_NAME_AT = _MARK_AND_GROUP.size + _CHECKSUM.size + _BODY.size
_ON_CPU_CELL = Struct("<12xI")


def pack(work: Work, deaths: int = 0, died: int = 0, seconds: int = 0) -> bytes:
    """Pack an entry from its checksum on, padded; b"" if it does not fit into a slot, and is not recorded."""
    key = work.key
    namespace, name = key.namespace.encode(), key.name.encode()
    if key.kind not in KINDS or len(namespace) > LONGEST_NAMESPACE or len(name) > LONGEST_NAME:
        return b""
    fields = (KINDS.index(key.kind), len(namespace), deaths, work.edition, died, seconds)
    body = (_BODY.pack(*fields) + namespace + name).ljust(SLOT - _MARK_AND_GROUP.size - _CHECKSUM.size, b"\0")
    return _CHECKSUM.pack(crc32(body)) + body


def pack_hold(hold: Hold) -> bytes:
    """Pack the entry of an object that is or was held back."""
    return pack(hold.work, deaths=hold.deaths, died=hold.died, seconds=hold.seconds)


def read(content: bytes) -> tuple[int, tuple[Trace, ...]]:
    """Read the group on the CPU, 0 for none, and every intact entry. Bytes of another format give (0, ())."""
    if len(content) < HEADER or not content.startswith(MAGIC):
        return 0, ()
    (on_cpu,) = _ON_CPU_CELL.unpack_from(content)
    found = (_read_slot(content[at : at + SLOT]) for at in range(HEADER, len(content) - SLOT + 1, SLOT) if content[at])
    return on_cpu, tuple(trace for trace in found if trace is not None)


def _read_slot(slot: bytes) -> Trace | None:
    mark, group = _MARK_AND_GROUP.unpack_from(slot)
    (checksum,) = _CHECKSUM.unpack_from(slot, _MARK_AND_GROUP.size)
    if mark not in _MARKS or checksum != crc32(slot[_MARK_AND_GROUP.size + _CHECKSUM.size :]):
        return None
    kind, length, deaths, edition, died, seconds = _BODY.unpack_from(slot, _MARK_AND_GROUP.size + _CHECKSUM.size)
    namespace, name = slot[_NAME_AT : _NAME_AT + length], slot[_NAME_AT + length :].rstrip(b"\0")
    if kind >= len(KINDS) or deaths > MOST_DEATHS or not (_is_word(namespace) and _is_word(name)):
        return None
    work = Work(ObjectKey(KINDS[kind], namespace.decode(), name.decode()), edition)
    return Trace(work=work, mark=Mark(mark), group=group, deaths=deaths, died=died, seconds=seconds)


def _is_word(text: bytes) -> bool:
    return bool(text) and text.isascii() and text.decode("ascii").isprintable()
