# SPDX-License-Identifier: Apache-2.0
"""Logs that are parts of one process's log."""

from __future__ import annotations

from given_rows import GivenRows

from forensics.processes.same_process import Log, same_processes


def test_a_member_id_belongs_to_one_process_but_a_leader_prints_those_of_others():
    lines = [
        {"group_id": "g", "member_id": "m", "process_id": "monday.log", "event": "joined"},
        {"group_id": "g", "member_id": "m", "process_id": "tuesday.log", "event": "synced"},
        {"group_id": "g", "member_id": "m", "process_id": "leader.log", "event": "assignment_computed"},
    ]
    assert same_processes(GivenRows({"client_event": lines}), {}) == {"monday.log": {"tuesday.log"}, "tuesday.log": {"monday.log"}}


def test_parts_of_one_file_belong_together_unless_they_have_other_urls_or_members():
    log = Log(None, 0, 9)
    parts = {"w.log": log, "w.log#2": log}
    together = {"w.log": {"w.log#2"}, "w.log#2": {"w.log"}}
    generation = {"kafka_cluster": "k", "group_id": "g", "incarnation": 0, "generation": 5, "client": "c"}
    members = [generation | {"process_id": "w.log", "member_id": "a"}, generation | {"process_id": "w.log#2", "member_id": "b"}]
    static = [{"process_id": "w.log", "client": "c", "group_instance_id": "i"}]
    assert same_processes(GivenRows({}), parts) == together
    assert same_processes(GivenRows({}), {"w.log": Log("http://a", 0, 9), "w.log#2": Log("http://b", 0, 9)}) == {}
    assert same_processes(GivenRows({"member_round": members}), parts) == {}
    assert same_processes(GivenRows({"member_round": members, "join_round": static}), parts) == together


def test_logs_with_one_url_belong_together_unless_they_overlap_in_time():
    logs = {"a": Log("http://localhost:8083", 0, 9), "b": Log("http://localhost:8083", 20, 30), "c": Log("http://localhost:8083", 5, 15)}
    assert same_processes(GivenRows({}), logs) == {"a": {"b"}, "b": {"a", "c"}, "c": {"b"}}
