"""The JSON report is a contract: programs that were written to an earlier schema read what is printed now."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import jsonschema
import made_case
import pytest
from places import TESTS

from forensics.report import json_form, reading, selection

SCHEMAS = TESTS / "schemas"
#: The first schema that had an `$id`, and the one that was printed before there were any.
FIRST, BEFORE = (json.loads((SCHEMAS / f"report-{name}.json").read_text(encoding="utf-8")) for name in ("1", "before-1"))
NOW = json.loads(files("forensics").joinpath("report-schema.json").read_text(encoding="utf-8"))
Schema = dict[str, Any]


def broken(old: Schema, new: Schema) -> list[str]:
    """Return the parts of a schema on which a program cannot rely in a document of another schema: missing or optional keys, other types, more words."""
    seen: set[str] = set()

    def at(schema: Schema, root: Schema) -> Schema:
        while "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def types(schema: Schema, root: Schema) -> set[str]:
        schema = at(schema, root)
        if "anyOf" in schema:
            return set().union(*(types(part, root) for part in schema["anyOf"]))
        told = schema.get("type", "object" if "properties" in schema else "any")
        if told == "any" and "enum" in schema:
            return {"null" if value is None else "string" for value in schema["enum"]}
        return {told} if isinstance(told, str) else set(told)

    def look(a: Schema, b: Schema, path: str) -> Iterator[str]:
        if "$ref" in a:
            if a["$ref"] in seen:
                return
            seen.add(a["$ref"])
        a, b = at(a, old), at(b, new)
        if "anyOf" in a and "anyOf" in b:
            for x in a["anyOf"]:
                for y in (y for y in b["anyOf"] if types(y, new) <= types(x, old)):
                    yield from look(x, y, path)
        if (kinds := types(a, old)) != {"any"} and (more := types(b, new) - kinds - ({"integer"} if "number" in kinds else set())):
            yield f"{path}: also {', '.join(sorted(more))}"
        if "const" in a and a["const"] != b.get("const"):
            yield f"{path}: is another"
        if "enum" in a and ("enum" not in b or set(b["enum"]) - set(a["enum"])):
            yield f"{path}: more words"
        for key in sorted(set(a.get("required", ())) - set(b.get("required", ()))):
            yield f"{path}.{key}: may be missing"
        for key, value in a.get("properties", {}).items():
            if key not in b.get("properties", {}):
                yield f"{path}.{key}: gone"
            else:
                yield from look(value, b["properties"][key], f"{path}.{key}")
        if "items" in a:
            yield from look(a["items"], b.get("items", {}), f"{path}[]")

    return list(look(old, new, ""))


def test_the_schema_says_which_it_is() -> None:
    jsonschema.Draft202012Validator.check_schema(NOW)
    told = json.loads(json_form.render(made_case.made()))
    assert told["schema"] == NOW["$id"] == json_form.SCHEMA
    assert told["version"] == json_form.VERSION
    assert NOW["$id"].endswith(f":{told['version']}")
    assert list(told)[:2] == ["schema", "version"]


def test_nothing_that_a_program_relies_on_has_changed_since_the_first_schema() -> None:
    assert FIRST["$id"] == NOW["$id"], "a new version needs a stored schema of its own"
    assert broken(FIRST, NOW) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s["required"].remove("findings"), ".findings: may be missing"),
        (lambda s: s["properties"].pop("clocks"), ".clocks: gone"),
        (lambda s: s["$defs"]["finding"]["properties"].pop("advice"), ".findings[].advice: gone"),
        (lambda s: s["$defs"]["finding"]["properties"]["severity"]["enum"].append("fatal"), ".severity: more words"),
        (lambda s: s["$defs"]["ownership"]["properties"].update(resource={"type": ["string", "integer", "null"]}), ".resource: also integer"),
        (lambda s: s["$defs"]["finding"]["properties"].update(from_ts={"type": "number"}), ".findings[].from_ts: also number"),
        (lambda s: s["properties"].update(version={"const": 2}), ".version: is another"),
    ],
)
def test_a_change_that_breaks_programs_is_seen(change, said) -> None:
    changed = copy.deepcopy(NOW)
    change(changed)
    assert [line for line in broken(NOW, changed) if line.endswith(said)], broken(NOW, changed)


def test_an_addition_breaks_nothing() -> None:
    more = copy.deepcopy(NOW)
    more["properties"]["weather"] = {"type": "string"}
    more["required"].append("weather")
    more["$defs"]["incident"]["properties"]["cause"]["examples"].append("flood")
    assert broken(NOW, more) == []


def strict(schema: Any) -> Any:  # noqa: ANN401
    """The schema with its open lists of words as closed ones."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("examples"), list):
        found["enum"] = [*schema["examples"], *([None] if "null" in schema["type"] else [])]
    return found


@pytest.mark.parametrize("schema", [BEFORE, FIRST, NOW, strict(NOW)], ids=["before 1", "first", "now", "words that it names"])
def test_a_made_report_keeps_to_every_schema_there_was(schema: Schema) -> None:
    jsonschema.Draft202012Validator(schema).validate(json.loads(json_form.render(made_case.made())))


@pytest.mark.engine
@pytest.mark.parametrize("name", ["split-brain-frozen-worker-3.9.1", "session-timeouts-consumers-3.9.1"])
def test_a_report_of_a_sample_keeps_to_every_schema_there_was(name: str, sample_case) -> None:
    told = json.loads(json_form.render(reading.read(sample_case(name), selection.Filters())))
    for schema in (BEFORE, FIRST, NOW, strict(NOW)):
        jsonschema.Draft202012Validator(schema).validate(told)
