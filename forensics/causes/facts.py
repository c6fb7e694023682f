"""Read the facts of occurrences, which a rule's view yields as JSON text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forensics.relations.missing import first
from forensics.wording.files import Links, rule_words

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


@dataclass(frozen=True)
class Occurrence:
    """An occurrence with its facts, and what its rule says about its causes.

    Attributes:
        row: its row of `occurrence_fact`.
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
    return [
        Occurrence(row, words[row["rule"]].cause, words[row["rule"]].links, json.loads(row["facts"] or "{}"))
        for row in inputs.rows("occurrence_fact")
    ]
