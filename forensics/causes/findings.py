"""Compute the view `finding`: repeated occurrences as one finding, described by the worst of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

from forensics.causes.facts import occurrence_facts
from forensics.causes.occurrences import rows as occurrence
from forensics.relations.inputs import Row, once
from forensics.relations.missing import first, greatest, least, names, order
from forensics.wording import sentences

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

#: The occurrences of a finding have these in common.
_COMMON = ("finding_id", "rule", "severity", "verdict", "kafka_cluster", "group_id")
#: A finding of many subjects names this many.
_NAMED_SUBJECTS = 10
#: A finding of many occurrences quotes this many events of the first and of the last.
_EVENTS_OF_ONE = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@once
def rows(inputs: Inputs) -> list[dict[str, Any]]:
    """Return the rows of the view `finding`."""
    occurrences = sorted(occurrence(inputs), key=_common)
    facts = {row["occurrence_id"]: row["all_facts"] for row in occurrence_facts(inputs)}
    return [_finding(list(its), facts) for _, its in groupby(occurrences, key=_common)]


def _common(occurrence: Row) -> list[Any]:
    return [order(occurrence[column]) for column in _COMMON]


def _in_time(occurrence: Row) -> Any:  # noqa: ANN401 (a sort key)
    return order((occurrence["from_ts"], occurrence["occurrence_id"]))


def _finding(its: Sequence[Row], facts: Mapping[str, str]) -> dict[str, Any]:
    # The worst is the longest or, if no duration is known, the last.
    worst = max(its, key=lambda it: (first(it["lasted_ms"], -1), _in_time(it)))
    # The cause of a repeated finding is that of its first occurrence: so no finding begins before the one that caused it.
    earliest, latest = min(its, key=_in_time), max(its, key=_in_time)
    subjects, is_single = names([it["subject"] for it in its]), len(its) == 1
    return {
        **{column: worst[column] for column in _COMMON},
        "subject": worst["subject"] if is_single else ", ".join(subjects[:_NAMED_SUBJECTS]),
        "from_ts": least(*(it["from_ts"] for it in its)),
        "to_ts": worst["to_ts"] if is_single else greatest(*(first(it["to_ts"], it["from_ts"]) for it in its)),
        **_texts(worst, facts),
        "witness": worst["witness"] if is_single else _witness(worst, earliest, latest),
        "occurrences": len(its),
        "subjects": len(subjects),
        "worst_id": worst["occurrence_id"],
        "worst_ms": worst["lasted_ms"],
        "witness_role": worst["witness_role"] if is_single else None,
        **{column: worst[column] for column in ("code", "facts")},
        **{column: earliest[column] for column in ("incident_id", "caused_by", "caused_how")},
    }


def _texts(worst: Row, facts: Mapping[str, str]) -> dict[str, Any]:
    """Return the sentences of an occurrence, as those of the view `occurrence`."""
    moments = {name: None if worst[name] is None else _EPOCH + timedelta(milliseconds=worst[name]) for name in ("from_ts", "to_ts")}
    (worded,) = sentences.findings([worst | moments | {"facts": facts.get(worst["occurrence_id"])}], {})
    return {text: worded[text] for text in sentences.TEXTS}


def _witness(worst: Row, earliest: Row, latest: Row) -> list[str] | None:
    lists = [worst["witness"], *(it["witness"] and it["witness"][:_EVENTS_OF_ONE] for it in (earliest, latest))]
    return None if None in lists else list(dict.fromkeys(event for events in lists for event in events))
