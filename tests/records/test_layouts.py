# SPDX-License-Identifier: Apache-2.0
"""The blocks of `parsers/layouts.toml`, held to their own examples."""

from __future__ import annotations

import json
import time

import pytest
from reading import read

from forensics import resources
from forensics.records.layout_check import check
from forensics.records.layouts import packaged, parse_layouts, read_json_as_far

LAYOUTS = packaged()


def test_every_block_takes_its_own_examples():
    assert [str(e) for e in check()] == []


WRAPPER = """
[[wrapper]]
name = "compose"
head = '(?P<source>[a-z]+) [|] '
[[wrapper.example]]
line = "worker | hello"
fields = { source = "worker" }
"""
BROKEN = {
    "does not match it": """
[[layout]]
name = "other"
pattern = ["%d{ISO8601} %p %m%n"]
[[layout.example]]
line = "nothing of the kind"
fields = {}
""",
    "gives other values": """
[[layout]]
name = "other"
pattern = ["%d{ISO8601} %p %m%n"]
[[layout.example]]
line = "2026-11-21 10:43:54,923 INFO hello"
fields = { ts = "2026-11-21T10:43:54.923Z", level = "INFO", message = "goodbye" }
""",
    "has no example": """
[[layout]]
name = "other"
pattern = ["%d{ISO8601} %p %m%n"]
""",
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_with_a_block_is_said(what):
    keys = resources.parsers_dir().joinpath("layouts.toml").read_text(encoding="utf-8").partition("\n[[wrapper]]")[0]
    errors = [str(e) for e in check(parse_layouts(keys + WRAPPER + BROKEN[what], "layouts.toml"))]
    assert len(errors) == 1
    assert what in errors[0]


@pytest.mark.parametrize("layout", LAYOUTS.layouts, ids=lambda x: x.name)
def test_no_line_makes_a_head_try_for_ever(layout):
    """Brackets, bars and keys, sixty of each, wherever a layout's head may meet them."""
    line = layout.examples[0].line
    begun = time.process_time()
    for at in [i for i, c in enumerate(line[:120]) if c in " [(|:"]:
        for more in ("[a] ", "[a]", " | ", "(a) ", "a=b, ", "[", " - ", ": ", "a.B "):
            LAYOUTS.find(line[: at + 1] + more * 60, layout.untimed)
            LAYOUTS.find_tail(layout, more * 60 + line[at:])
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":"b", "c": "d"e", "f": 1, "g": "h\\"i"}', {"a": "b", "c": 'd"e', "f": "1", "g": 'h"i'}),
        ('{"id": "A", "content": {"timestamp": "2024", "message": "cut of', {"id": "A", "content.timestamp": "2024", "content.message": "cut of"}),
        ('{"a": {"b": "x"y", "c": {"d": "z"}}, "e": "f", "g": 3', {"a.b": 'x"y', "a.c.d": "z", "e": "f", "g": "3"}),
        ('{"level": {}, "tags": ["a", "b"], "message": "x {"a": "b"} y', {"message": 'x {"a": "b"} y'}),
    ],
)
def test_a_broken_object_is_read_as_far_as_it_goes(text, found):
    assert read_json_as_far(text) == found


def _messages(text, tmp_path):
    """Return the messages that a pasted text is read as."""
    (tmp_path / "paste.log").write_text(text)
    reading = read([tmp_path / "paste.log"])
    return [(e["event"], e.get("group_id"), e.get("ts")) for e in reading.events]


def test_an_object_with_marks_of_its_surroundings_is_read(tmp_path):
    line = '{"severity":7,"fac":"CGRPCOORD","message":"[thrd:main]: Group \\"shop\\" coordinator is b-3:9092 id 3"}'
    for after in ("}] ", "}.", "}`", "},"):
        assert _messages(f"```\n{line[:-1]}{after}\n```\n", tmp_path) == [("coordinator_discovered", "shop", None)], after


def test_objects_with_a_key_a_line_are_read_among_prose(tmp_path):
    def row(second):
        found = {
            "level": "WARN",
            "timestamp": f"2025-11-27T22:02:{second}.825Z",
            "logger": "kafkajs",
            "message": "[Runner] The group is rebalancing, re-joining",
        }
        return json.dumps(found | {"groupId": "shop", "error": "The group is rebalancing, so a rejoin is needed"}, indent=2)

    text = f"# Log:\n\n```json\n{row(19)}\n```\n\nLater {{x}} this:\n{{\nno JSON\n}}\n\n```json\n{row(25)}\n```\n"
    assert [(group, ts.second) for _, group, ts in _messages(text, tmp_path)] == [("shop", 19), ("shop", 25)]


def test_an_object_that_the_poster_cut_is_read_without_a_whole_one(tmp_path):
    text = '{"level":"ERROR","timestamp":"2021-01-25T17:19:25.167Z","message":"[Consumer] Crash: KafkaJSError: x","groupId":"shop","stack":"at Run'
    found = _messages(f"```\n{text}\n```\n", tmp_path)
    assert [(event, group) for event, group, _ in found] == [("member_failed", "shop")]
    assert found[0][2].isoformat() == "2021-01-25T17:19:25.167000+00:00"


def test_a_line_quoted_as_code_within_prose_is_read(tmp_path):
    line = "%4|1584354682.571|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval (300000ms) exceeded by 149ms "
    line += "(adjust max.poll.interval.ms for long-running message processing): leaving group"
    assert [event for event, _, _ in _messages(f"err log\n`{line}`\n\nI get this often.\n{line}\n", tmp_path)] == ["poll_timeout"] * 2


def test_messages_alone_are_read_in_the_marks_of_markdown(tmp_path):
    line = "Member b-2-05ba4dd6 sending LeaveGroup request to coordinator <brokers-ip> (id: 2147483645 rack: null) due to consumer poll timeout has expired."
    assert [event for event, _, _ in _messages(f"`{line}`\n\nthis log above is all that I have.\n", tmp_path)] == ["leaving"]
    assert [event for event, _, _ in _messages(f"What I received:\n```\n{line}\n```\nNothing else.\n", tmp_path)] == ["leaving"]
    assert [event for event, _, _ in _messages(f"Is it related?\n\n`\n {line}\n`\n", tmp_path)] == ["leaving"]
    row = '{"level":"ERROR","timestamp":"2022-11-28T10:44:44.740Z","logger":"kafkajs","message":"[Connection] Response GroupCoordinator(key: 10, version: 2)","error":"x"}'
    found = _messages(f"{row}\n**{row}**\n> {row}\n", tmp_path)
    assert [event for event, _, _ in found] == ["coordinator_lookup_failed"] * 3
    text = 'x - - [24/Mar/2020:03:29:29 +0000] "GET / HTTP/1.1" 200\nHeartbeat session expired - marking coordinator dead\nMarking the coordinator dead (node 0)for group shop.\n'
    assert [event for event, _, _ in _messages(text, tmp_path)] == ["heartbeat_failed", "coordinator_lost"]


def test_a_copy_of_html_source_is_read_as_it_is_shown(tmp_path):
    line = "%7|1594908244.960|CGRPJOINSTATE|rdkafka#consumer-2| [thrd:main]: Group &quot;a &amp; b&quot; changed join state started -&gt; wait-unassign (v4, state up)"
    assert [(event, group) for event, group, _ in _messages(line, tmp_path)] == [("member_state_changed", "a & b")]
    plain = "[2026-11-21 10:43:54,923] INFO [Consumer clientId=a, groupId=a&amp;b] (Re-)joining group (org.apache.kafka.clients.consumer.internals.AbstractCoordinator)"
    assert _messages(f"{plain}\n[2026-11-21 10:43:55,923] INFO <x> (a.B)\n", tmp_path)[0][1] == "a&amp;b", "a log with the characters themselves"


def test_words_of_librdkafka_are_not_split_into_a_level_and_a_logger(tmp_path):
    line = "rdkafka: [thrd:main]: Fatal error: Broker: Static consumer fenced by other consumer with same group.instance.id: Fatal consumer error: x"
    assert [event for event, _, _ in _messages(f"without it:\n\n```ruby\n{line}\n{line}\n{line}\n```\n", tmp_path)] == ["member_fenced"] * 3


def test_a_viewers_clock_is_no_time_of_a_record(tmp_path):
    row = '{"level":"info","ts":1676981874.404544,"msg":"joining group","group":"shop"}'
    found = _messages(f"\tFeb 21, 2023 @ 15:17:54.404\t{row}\n\tFeb 21, 2023 @ 15:17:54.404\t{row}\n", tmp_path)
    assert {(event, group, ts.isoformat()) for event, group, ts in found} == {("joining", "shop", "2023-02-21T12:17:54.404544+00:00")}
    line = "INFO [GroupCoordinator 3]: Member a-1 in group shop has failed, removing it from the group (kafka.coordinator.group.GroupCoordinator)"
    found = _messages("".join(f"Jan 17, 2020 @ 15:54:2{n}.877\n[2020-01-17 10:24:2{n},876] {line}\n" for n in range(3)), tmp_path)
    assert [(event, ts.strftime("%H:%M:%S")) for event, _, ts in found] == [("member_expired", f"10:24:2{n}") for n in range(3)]
