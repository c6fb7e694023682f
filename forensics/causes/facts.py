"""Read what all rules found: their occurrences, with their facts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from forensics.relations.inputs import once
from forensics.relations.missing import first, greatest, minus
from forensics.wording.files import Links, rule_words

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


#: Length of an ID.
_ID = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@once
def occurrence_facts(inputs: Inputs) -> list[Row]:
    """Return all rows of all rules, with the ID of the rule and that of the occurrence, which is stable.

    `facts` is JSON text without the facts that are NULL; `all_facts` has them too.
    """
    return [_found(view.removeprefix("rule_").replace("_", "-"), row) for view in inputs.may_read("rule_") for row in inputs.rows(view)]


def _found(rule: str, row: Row) -> Row:
    facts = _text(_known(row["facts"]))
    parts = (rule, row["kafka_cluster"], row["group_id"], row["subject"], facts, _moment(row["from_ms"]))
    proof = [line for line in row["proof"] if line["event_id"] is not None] if row["proof"] is not None else None
    return {
        "occurrence_id": sha256("|".join(part for part in parts if part is not None).encode()).hexdigest()[:_ID],
        "rule": rule,
        **{name: row[name] for name in ("severity", "verdict", "kafka_cluster", "group_id", "subject", "from_ms", "to_ms", "code")},
        "lasted_ms": minus(row["to_ms"], row["from_ms"]),
        "witness": None if proof is None else [line["event_id"] for line in proof],
        "witness_role": None if proof is None else [line["role"] for line in proof],
        "facts": facts,
        "all_facts": _text(row["facts"]),
    }


def _text(facts: Any) -> str:  # noqa: ANN401 (JSON)
    return json.dumps(facts, separators=(",", ":"), ensure_ascii=False, default=str)


def _known(value: Any) -> Any:  # noqa: ANN401 (JSON)
    """Return facts without those that are NULL, at any depth; items of lists stay."""
    if isinstance(value, dict):
        return {name: _known(item) for name, item in value.items() if item is not None}
    return [_known(item) for item in value] if isinstance(value, list) else value


def _moment(ms: int | None) -> str | None:
    """Return a time as SQL prints it, without zeros at the end of the fraction."""
    if ms is None:
        return None
    whole, fraction = divmod(ms, 1000)
    text = (_EPOCH + timedelta(seconds=whole)).strftime("%Y-%m-%d %H:%M:%S")
    return f"{text}.{fraction:03d}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Occurrence:
    """An occurrence with its facts, and what its rule declares about its causes.

    Attributes:
        row: what `occurrence_facts` returns of it.
        cause: the root cause that its rule proves; may be empty.
        links: of its rule.
        facts: its facts by name; unknown facts are missing.
    """

    row: Row
    cause: str
    links: Links
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.row["occurrence_id"])

    @property
    def group(self) -> tuple[str | None, str | None]:
        """Return its cluster and its group."""
        return self.row["kafka_cluster"], self.row["group_id"]

    @property
    def from_ms(self) -> int | None:
        return self.row["from_ms"]  # type: ignore[no-any-return]

    @property
    def to_ms(self) -> int | None:
        """Return when it ended, or the moment of one that is a point in time."""
        return first(self.row["to_ms"], self.from_ms)  # type: ignore[no-any-return]

    @property
    def begun_ms(self) -> int | None:
        """Return when it had certainly begun: a pause between two lines, of which only the least length is known, by that long before its end."""
        paused_ms = self.number("paused_ms") if self.links.cause_by == "witness" else None
        return greatest(self.from_ms, minus(self.to_ms, paused_ms))

    def text(self, fact: str) -> str | None:
        """Return a fact as text; None if it is unknown."""
        value = self.facts.get(fact)
        return value if value is None or isinstance(value, str) else json.dumps(value)

    def number(self, fact: str) -> int | None:
        """Return a fact that is a number; None if it is unknown."""
        try:
            return int(self.facts.get(fact))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return None

    def texts(self, fact: str) -> list[str]:
        """Return a fact that is a list of texts; an empty list if it is unknown."""
        value = self.facts.get(fact)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def occurrences(inputs: Inputs) -> list[Occurrence]:
    """Return all occurrences."""
    words = rule_words()
    return [Occurrence(row, words[row["rule"]].cause, words[row["rule"]].links, json.loads(row["facts"] or "{}")) for row in occurrence_facts(inputs)]
