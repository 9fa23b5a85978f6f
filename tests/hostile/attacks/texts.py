"""Hostile text in a ConfigMap, which a kubernetes-resource trigger reads: parsed by the operator itself."""

from functools import partial

from tests.hostile.attacks.payloads import (
    LARGEST_CONFIG_MAP,
    nested,
    yaml_aliases,
    yaml_block,
    yaml_merges,
    yaml_sexagesimal,
)
from tests.hostile.case import Case
from tests.hostile.trial import Trial

BIG = LARGEST_CONFIG_MAP


async def _text(trial: Trial, text: str, format: str = "yaml", location: str = "value", **metadata: str) -> None:
    where = {"valueLocation": location} if format != "number" else {}
    await trial.scale_on_config(text, format=format, **where, **metadata)


def _case(id: str, sentence: str, text: str, *, wave: str = "", **more: str) -> Case:
    return Case(id=id, sentence=sentence, attack=partial(_text, text=text, **more), wave=wave)


CASES = (
    _case(
        "yaml-depth-flow",
        "YAML of 120 kB that is nothing but opening brackets",
        nested("[", "]", BIG),
        wave="yaml nests",
    ),
    _case(
        "yaml-depth-block",
        "YAML of 120 kB, a list in a list in a list without a bracket",
        yaml_block(BIG),
        wave="yaml nests",
    ),
    _case("yaml-depth-open", "YAML of 120 kB whose brackets are never closed", "[" * BIG, wave="yaml nests"),
    _case("yaml-merge-bomb", "YAML of 1.2 kB whose merge keys double 28 times", yaml_merges(), wave="yaml nests"),
    _case("yaml-alias-bomb", "YAML of 2 kB whose aliases stand for 9^40 numbers", yaml_aliases(), wave="yaml"),
    _case(
        "yaml-sexagesimal",
        "a YAML number to the base of 60 with 60 000 digits",
        yaml_sexagesimal(BIG),
        wave="yaml",
    ),
    _case("yaml-long-integer", "a YAML number of 119 000 digits", "value: " + "9" * 119_000, wave="yaml"),
    _case(
        "yaml-octal-integer",
        "a YAML number of 119 000 hexadecimal digits",
        "value: 0x" + "f" * 119_000,
        wave="yaml",
    ),
    _case("yaml-infinity", "the YAML number .inf", "value: .inf", wave="yaml"),
    _case("yaml-not-a-number", "the YAML number .nan", "value: .nan", wave="yaml"),
    _case(
        "yaml-strange-keys",
        "YAML whose keys are lists and mappings",
        "? [1, {a: b}]\n: 1\nvalue: 1",
        wave="yaml",
    ),
    _case(
        "yaml-many-keys",
        "a YAML mapping of 12 000 keys",
        "".join(f"k{n}: 1\n" for n in range(12_000)),
        wave="yaml",
    ),
    _case(
        "yaml-python-tag",
        "a YAML tag that names a Python function",
        "value: !!python/object/apply:os.getpid []",
        wave="yaml",
    ),
    _case(
        "json-depth-text",
        "JSON of 120 kB that is nothing but brackets",
        nested("[", "]", BIG),
        format="json",
        wave="json texts",
    ),
    _case(
        "json-long-integer",
        "a JSON number of 119 000 digits",
        '{"value": ' + "9" * 119_000 + "}",
        format="json",
        wave="json texts",
    ),
    _case("json-huge-exponent", "the JSON number 1e400", '{"value": 1e400}', format="json", wave="json texts"),
    _case(
        "json-text-of-digits",
        "a JSON text of 119 000 digits, to be read as a quantity",
        '{"value": "' + "9" * 119_000 + '"}',
        format="json",
        wave="json texts",
    ),
    _case("number-long", "a number of 119 000 digits", "9" * 119_000, format="number", wave="json texts"),
    _case("number-exponent", "the quantity 1e999999999", "1e999999999", format="number", wave="json texts"),
    _case(
        "number-fraction",
        "a quantity with 119 000 decimals",
        "0." + "0" * 119_000 + "1",
        format="number",
        wave="json texts",
    ),
    _case("number-not-finite", "the number NaN", "NaN", format="number", wave="json texts"),
    _case(
        "json-lone-surrogates",
        "JSON with half characters",
        '{"value": "\\ud800", "\\udfff": 1}',
        format="json",
        location="\\udfff",
        wave="json texts",
    ),
)
