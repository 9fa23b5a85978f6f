"""XML as mappings, from the parser's events: no entities in any encoding, no recursion, a bounded depth."""

from typing import Final
from xml.parsers import expat

from keda_py.errors import ScalerError

DEEPEST: Final = 100
_NO_MEMORY: Final = expat.errors.codes[expat.errors.XML_ERROR_NO_MEMORY]
_DECLARES = "the answer is XML that declares entities or types of its own, which are not read"


def read_xml(text: bytes) -> object:
    """The document under the name of its root; elements of one name make a list. Raises ScalerError."""
    tree, parser = _Tree(), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _check_doctype
    parser.EntityDeclHandler = parser.SkippedEntityHandler = _refuse_entity
    parser.StartElementHandler, parser.EndElementHandler = tree.begin, tree.end
    parser.CharacterDataHandler = tree.text
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, expat.ExpatError) and error.code == _NO_MEMORY:
            raise MemoryError from None
        raise ScalerError("the answer is not XML") from None
    return tree.root


def _check_doctype(_name: str, _system: str | None, _public: str | None, has_own_types: bool) -> None:
    if has_own_types:
        raise ScalerError(_DECLARES)


def _refuse_entity(*_: object) -> None:
    raise ScalerError(_DECLARES)


class _Tree:
    """The elements that are open, innermost last: each with what is inside of it, and its text."""

    def __init__(self) -> None:
        self.root: dict[str, object] = {}
        self._open: list[tuple[dict[str, object], list[str]]] = [(self.root, [])]

    def begin(self, _name: str, _attributes: object) -> None:
        if len(self._open) > DEEPEST:
            raise ScalerError(f"the answer is XML with more than {DEEPEST} levels of nesting")
        self._open.append(({}, []))

    def text(self, part: str) -> None:
        self._open[-1][1].append(part)

    def end(self, name: str) -> None:
        inside, text = self._open.pop()
        _put(self._open[-1][0], name.rpartition(":")[2], inside or "".join(text).strip())


def _put(parent: dict[str, object], name: str, value: dict[str, object] | str) -> None:
    """Add a child: a single one as itself, several as a list."""
    found = parent.get(name)
    if found is None:
        parent[name] = value
    elif isinstance(found, list):
        found.append(value)
    else:
        parent[name] = [found, value]
