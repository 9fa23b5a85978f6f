"""A CRD as lines of facts, one per column, rule and field, without texts for humans."""

from collections.abc import Iterator
from typing import Any

SHOWN = ("type", "format", "minimum", "maximum", "minLength", "minItems", "enum", "default", "pattern")
POD = "spec.jobTargetRef.template.spec"


def facts(crd: dict[str, Any]) -> Iterator[str]:
    spec = crd["spec"]
    (version,) = spec["versions"]
    name = crd["metadata"]["name"]
    names = spec["names"]
    short = ",".join(names.get("shortNames", ()))
    yield f"{name} {spec['group']}/{version['name']} {names['kind']} {names['listKind']} {spec['scope']} [{short}]"
    for column in version["additionalPrinterColumns"]:
        wide = f" priority={column['priority']}" if "priority" in column else ""
        yield f"{name} column {column['name']} {column['type']} {column['jsonPath']}{wide}"
    for path, schema, required in fields(version["schema"]["openAPIV3Schema"], ""):
        if not path.startswith(POD + "."):
            yield f"{name} {path}: {describe(schema, required)}"


def fields(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any], bool]]:
    for key, child in sorted(schema.get("properties", {}).items()):
        child_path = f"{path}.{key}" if path else key
        yield child_path, child, key in schema.get("required", ())
        yield from fields(child, child_path)
    for key, suffix in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(child := schema.get(key), dict):
            yield path + suffix, child, False
            yield from fields(child, path + suffix)


def describe(schema: dict[str, Any], required: bool) -> str:
    said = [f"{key}={schema[key]}" for key in SHOWN if key in schema]
    said += [f"{key}={schema[key]}" for key in sorted(schema) if key.startswith("x-kubernetes-")]
    return " ".join(said + ["required"] * required)
