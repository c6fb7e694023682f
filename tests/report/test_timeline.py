"""The timeline of the terminal: lanes, overlaps and generations in letters that differ without colour, at any width."""

from __future__ import annotations

import dataclasses
from datetime import timedelta, timezone

import pytest
from crowd import crowd
from made_case import at, generation, incident, made, owned, rows, split

from forensics.clocks.reference import ms
from forensics.errors import UsageError
from forensics.report import text, timeline
from forensics.report.page.case_rows import CaseRows


def drawn(width: int = 100, resources: tuple[str, ...] = (), views: dict | None = None, **filters: object) -> list[str]:
    return text.as_text(timeline.compose(made(views, **filters), width, resources), width).splitlines()


def lane(lines: list[str], *label: str) -> str:
    """The line that begins with these words, without them."""
    line = next(line for line in lines if line.split()[: len(label)] == list(label))
    begin = line.index(label[-1]) + len(label[-1])
    return " " * begin + line[begin:]


def doubled() -> dict:
    views = rows()
    views["ownership"] = [
        owned("orders-2", "w2", start_lo=at(10), start_hi=at(20), stop_lo=at(60), stop_hi=at(70)),
        owned("orders-2", "w1", start_lo=at(40), start_hi=at(40), stop_lo=at(110), stop_hi=at(110)),
    ]
    (first, second) = (o["ownership_id"] for o in views["ownership"])
    bounds = {"from_lo": at(40), "from_hi": at(40), "to_lo": at(60), "to_hi": at(70), "certain_ms": 20_000, "possible_ms": 30_000}
    views["split_brain"] = [split("orders-2", ownership_a=first, ownership_b=second, **bounds)]
    return views


def test_what_is_certain_and_what_is_possible_are_different_letters() -> None:
    lines = drawn(140, views=doubled())
    first = lane(lines, "orders-2", "w2")
    assert first.strip().startswith("░")
    assert first.rstrip().endswith("░")
    assert "█" in first
    assert "░" not in lane(lines, "w1")
    both = lane(lines, "overlap")
    assert set(both) == {" ", "X", "?"}
    assert both.index("X") == lane(lines, "w1").index("█"), "an overlap stands below its owners"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"certain_ms": 20_000, "possible_ms": 30_000, "there_certain_ms": 25_000},
            "proved: two owners for at least 25.0 s, both working for at least 20.0 s; possible: both working for up to 30.0 s",
        ),
        # They may have worked one after the other: longer together than possibly working at the same time.
        (
            {"certain_ms": 0, "possible_ms": 4_511, "there_certain_ms": 15_660},
            "proved: two owners for at least 15.6 s, each of which did work in that time; possible: both working for up to 4.52 s",
        ),
        ({"kind": "thread", "certain_ms": 5_000, "possible_ms": None}, "proved: two owners for at least 5.00 s; possible: for an unknown time"),
        ({"verdict": "undecided", "certain_ms": 0, "possible_ms": 4_000}, "not proved; possible: two owners for up to 4.00 s"),
    ],
)
def test_an_overlap_says_what_is_proved_and_what_is_possible(more: dict, said: str) -> None:
    views = doubled()
    views["split_brain"] = [views["split_brain"][0] | more]
    assert said in " ".join(drawn(300, views=views))


def test_no_overlap_is_too_short_to_be_seen() -> None:
    views = doubled()
    views["split_brain"] = [
        views["split_brain"][0] | {"from_lo": at(50), "from_hi": at(50), "to_lo": at(50.001), "to_hi": at(50.001), "certain_ms": 1}
    ]
    assert "X" in lane(drawn(60, views=views), "overlap")


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_it_fits(width: int) -> None:
    lines = drawn(width)
    assert all(len(line) <= width for line in lines)
    assert any("orders-2" in line for line in lines)


def test_generations_stand_where_they_began_with_their_triggers() -> None:
    views = rows()
    views["generation"] = [generation(1, 0), generation(2, 60)]
    lines = drawn(120, views=views)
    numbers = lane(lines, "generation")
    assert 30 < numbers.index("2") - numbers.index("1") < 50, "a minute is more than a third of the picture"
    assert any(line.split()[:2] == ["2", "10:01:00.000"] for line in lines)


def test_a_rebalance_that_had_not_ended_is_drawn_to_the_end_of_the_logs() -> None:
    views = rows()
    row = {key: views["generation"][0][key] for key in ("kafka_cluster", "group_id")}
    row |= {"last_generation": 9, "began_ts": at(70), "from_ts": at(70), "to_ts": at(100), "lasted_ms": 30_000, "reason": None}
    views["open_rebalance"] = [row | {"asked": [], "awaited": [], "is_given_up": False, "witness": ["e1"]}]
    lines = drawn(100, views=views)
    assert "… is one that had not ended" in " ".join(lines)
    begun = lane(lines, "generation").index("…")
    stretch = lane(lines, "rebalance")
    assert set(stretch[begun : begun + 10]) == {"▒"}
    # Also where the time that is asked for has no generation.
    assert "…" in lane(drawn(100, views=views, since="10:01:20"), "generation")


def test_a_resource_and_a_time_are_drawn_alone() -> None:
    lines = drawn(100, ("orders-2",))
    assert not any(line.split()[:1] == ["orders-1"] for line in lines)
    with pytest.raises(UsageError) as error:
        drawn(100, ("order-2",))
    assert "`orders-2`" in error.value.fix
    assert any("From 10:00:30.000" in line for line in drawn(100, since="10:00:30"))


def test_times_are_the_reader_s() -> None:
    report = dataclasses.replace(made(), zone=timezone(timedelta(hours=2)))
    written = text.as_text(timeline.compose(report, 100), 100)
    assert "From 11:59:18.999" in written
    assert "10:00:" not in written


def test_many_resources_are_counted_but_those_with_two_owners_are_all_drawn() -> None:
    views = rows()
    views["ownership"] = [owned(f"many-{n}", "w1") for n in range(100)]
    views["split_brain"] = [split(f"many-{n}") for n in range(40)]
    written = "\n".join(drawn(100, views=views))
    assert written.count("overlap") >= 40
    assert "more resources" in written


def test_a_case_without_owners_says_so() -> None:
    assert any("neither generations nor owners" in line for line in drawn(80, views={name: [] for name in rows()}))


def test_a_moment_that_is_proved_is_drawn_as_certain() -> None:
    views = doubled()
    views["incident"] = [incident("poll_too_slow", [], from_lo=at(22), from_hi=at(22.1), to_lo=at(22), to_hi=at(22.1))]
    assert "=" in lane(drawn(140, views=views), "w2", "polled", "too", "slowly")


def test_a_freeze_is_drawn_and_a_frozen_owner_is_not_solid() -> None:
    views = doubled()
    views["incident"] = [incident("process_paused", [], from_lo=at(22), from_hi=at(30), to_lo=at(50), to_hi=at(56))]
    lines = drawn(140, views=views)
    cause = lane(lines, "w2", "froze")
    certain = range(cause.index("="), cause.rindex("=") + 1)
    assert set(cause.split()[-1]) == {"=", "~"}
    frozen = lane(lines, "orders-2", "w2")
    assert {frozen[n] for n in certain[1:-1]} == {"-"}
    assert "█" in frozen
    assert "-" not in lane(lines, "w1"), "the other owner was not frozen"
    assert any("the owner was frozen" in line for line in lines)


def test_each_death_and_eviction_has_its_letter() -> None:
    parts = [
        {"process_id": "w2/connect.log", "from_lo_ms": ms(at(a)), "from_hi_ms": ms(at(b)), "to_lo_ms": ms(at(b)), "to_hi_ms": ms(at(b))}
        for a, b in ((20, 26), (60, 66))
    ]
    removal = {
        "kafka_cluster": "abc",
        "group_id": "connect-cluster",
        "process_id": "w2/connect.log",
        "member_id": "m",
        "was_closed": False,
        "removed_id": "e1",
    }
    removals = [removal | {"removed_lo_ms": ms(at(s)), "removed_hi_ms": ms(at(s))} for s in (26.5, 66.5)]
    views = rows()
    views["incident"] = [incident("process_killed", [], from_lo=at(20), from_hi=at(26), to_lo=at(66), to_hi=at(66), times=2)]
    more = CaseRows(causes=[{"incident_id": "i-process_killed", "parts": parts}], removals=removals)
    lines = text.as_text(timeline.compose(made(views), 140, (), more), 140).splitlines()
    marks = lane(lines, "evicted,", "died")
    assert [sign for sign in marks if sign in "ED"] == ["D", "E", "D", "E"]
    cause = lane(lines, "w2", "died")
    assert len(cause.split()) == 2, "each time is a stretch of its own"
    # The words of the cause are in the legend only where there is one.
    views["incident"] = []
    views["generation"] = [g | {"trigger": "member_joined"} for g in views["generation"]]
    assert not any("Cause of an incident" in line for line in drawn(140, views=views))


def test_what_all_groups_have_in_common_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every group shows all deaths and all repeats of the causes."""
    placed, cell = [0], timeline._Drawn.cell  # noqa: SLF001

    def counted(self: timeline._Drawn, at: float) -> int:
        placed[0] += 1
        return cell(self, at)

    monkeypatch.setattr(timeline._Drawn, "cell", counted)  # noqa: SLF001

    def work(groups: int) -> int:
        views = crowd(groups)
        views["incident"] = [i | {"cause": "process_killed"} for i in views["incident"]]
        views["process"] = [p | {"last_ts": at(10 * groups)} for p in views["process"]]
        placed[0] = 0
        written = text.as_text(timeline.compose(made(views), 120), 120)
        assert written.count("evicted, died") == groups
        return placed[0]

    assert work(120) < 4 * work(40)


def test_names_are_whole_at_80_columns() -> None:
    views = rows()
    views["ownership"] = [owned("customer-orders-by-region-12", "w2", start_lo=at(10), start_hi=at(20), stop_lo=at(60), stop_hi=at(70))]
    lines = drawn(80, views=views)
    assert any(line.split()[:2] == ["customer-orders-by-region-12", "w2"] for line in lines)
    assert max(map(len, lines)) <= 80
