# SPDX-License-Identifier: Apache-2.0
"""GC logs: the pauses of every collector and release, what a file covers, and what shows nothing.

The lines are of the forms in chewiebug/GCViewer, src/test/resources/openjdk.
"""

from __future__ import annotations

import pytest
from test_snapshots import read

from forensics.snapshots.detection import READERS, kind_of, sample_lines
from forensics.snapshots.gc_log import LEAST_MS
from forensics.snapshots.machine import all_patterns, patterns
from forensics.snapshots.observation import Broken, Observation, Strange

#: 1 s after the beginning of 22 November 2026, UTC.
AT = 1_795_305_601_000


def pauses(text: str) -> list[dict[str, str]]:
    return [row.captures["columns"] for row in read(text, "gc_log") if row.event == "machine_event"]


def watched(text: str) -> dict[str, str]:
    return next(row.captures["columns"] for row in read(text, "gc_log") if row.event == "machine_watched")


def test_each_pattern_matches_its_examples_and_no_counterexample() -> None:
    for pattern in all_patterns():
        for line, groups in pattern.examples:
            found = pattern.pattern.fullmatch(line)
            assert found, line
            assert {k: v for k, v in found.groupdict().items() if v is not None} == dict(groups)
            assert sum(other.pattern.fullmatch(line) is not None for other in patterns(pattern.of)) == 1, line
        for line in pattern.counterexamples:
            assert not any(other.pattern.fullmatch(line) for other in patterns(pattern.of)), line


#: Unified logging prints a pause when it ends.
UNIFIED = {
    "G1, JDK 17": "[2026-11-22T00:00:39.114+0000][245ms][info][gc          ] GC(0) Pause Full (G1 Compaction Pause) 510M->498M(512M) 38114.000ms",
    "decimal comma": "[2026-11-22T00:00:39.114+0000][245,1s][info][gc] GC(0) Pause Full (G1 Compaction Pause) 510M->498M(512M) 38114,000ms",
    "Kafka's own options": "[2026-11-22T00:00:39.114+0000][gc          ] GC(0) Pause Full (Ergonomics) 62M->61M(123M) 38114.000ms",
    "only the time": "[2026-11-22T00:00:39.114+0000] GC(0) Pause Full (Ergonomics) 62M->61M(123M) 38114.000ms",
    "another zone": "[2026-11-22T01:00:39.114+0100][gc] GC(0) Pause Young (Allocation Failure) 62M->61M(123M) 38114.000ms",
    "Shenandoah": "[2026-11-22T00:00:39.114+0000][8.793s][info][gc            ] GC(0) Pause Degenerated GC (Outside of Cycle) 119M->56M(124M) 38114.000ms",
    "ZGC with generations": "[2026-11-22T00:00:39.114+0000][info][gc,phases] GC(0) Y: Pause Mark Start 38114.000ms",
    "a safepoint, JDK 17": '[2026-11-22T00:00:39.114+0000][info][safepoint   ] Safepoint "Cleanup", Time since last: 1634200 ns, Reaching safepoint: 92800 ns,'
    " At safepoint: 11173200 ns, Total: 38114000000 ns",
    "a safepoint, JDK 11": "[2026-11-22T00:00:39.114+0000][info][safepoint] Total time for which application threads were stopped: 38.1140000 seconds,"
    " Stopping threads took: 0.0002622 seconds",
    "a safepoint, JDK 8": "2026-11-22T00:00:39.114+0000: 366,174: Total time for which application threads were stopped: 38,1140000 seconds, Stopping threads took: 0,1 seconds",
    # JDK 8 prints when a collection began.
    "Parallel, JDK 8": "2026-11-22T00:00:01.000+0000: 7.599: #2: [Full GC (System.gc()) [PSYoungGen: 98289K->0K(8257536K)] [ParOldGen: 32K->98112K(1048576K)]"
    " 98321K->98112K(9306112K), [Metaspace: 16471K->16471K(1064960K)], 38.1139397 secs] [Times: user=1.52 sys=0.17, real=38.114 secs]",
    "G1, JDK 8": "2026-11-22T00:00:01.000+0000: 0.163: [GC pause (G1 Evacuation Pause) (young)\n   [Parallel Time: 7.6 ms, GC Workers: 2]\n"
    "   [Eden: 14.0M(14.0M)->0.0B(12.0M) Survivors: 0.0B->2048.0K Heap: 14.0M(256.0M)->11.2M(256.0M)]\n [Times: user=0.02 sys=0.00, real=38.114 secs] ",
    "Parallel, JDK 8 without details": "2026-11-22T00:00:01.000+0000: 7.599: [Full GC (Ergonomics)  9306112K->98112K(9306112K), 38.1140000 secs]",
    "CMS, JDK 8": "2026-11-22T00:00:01.000+0000: 221063.690: [Full GC (Allocation Failure) 221063.690: [CMS2026-11-22T00:00:05.938+0000: 221244.123:"
    " [CMS-concurrent-mark: 10.648/192.322 secs] [Times: user=387.39 sys=1.20, real=192.32 secs]\n (concurrent mode failure): 3072K->3072K(3072K), 9.1 secs]"
    " 3K->3K(4K), 38.11 secs] [Times: user=30.1 sys=0.1, real=38.114 secs]",
    # SampleSun1_7_0CMS_PrintTenuringDistributionPromotionFailure.txt: the stop that follows is the same pause.
    "CMS, JDK 7, a failed promotion": "2026-11-22T00:00:01.000+0000: 13295.637: [GC2026-11-22T00:00:01.000+0000: 13295.637: [ParNew (0: promotion failure size = 11863)"
    "  (promotion failed)\nDesired survivor size 208764928 bytes, new threshold 15 (max 15)\n- age   1:  187860912 bytes,  187860912 total\n"
    ": 6906246K->6819243K(6932288K), 2.7300470 secs]2026-11-22T00:00:03.730+0000: 13298.367: [CMS2026-11-22T00:00:06.372+0000: 13300.980:"
    " [CMS-concurrent-sweep: 16.244/20.725 secs] [Times: user=100.59 sys=4.74, real=20.72 secs] \n (concurrent mode failure): 1K->1K(2K), 35.21 secs]"
    " 3K->2K(3K), 38.1140000 secs] [Times: user=131.28 sys=0.07, real=38.114 secs] \n}\n"
    "2026-11-22T00:00:39.120+0000: 13425.584: Total time for which application threads were stopped: 38.1139000 seconds",
    # SampleSun1_7_0CmsPrintFlsStats1.txt
    "CMS, JDK 7, free lists": "2026-11-22T00:00:01.000+0000: 0.356: [GCBefore GC:\nStatistics for BinaryTreeDictionary:\n------------------------------------\n"
    "Total Free Space: 4987\nMax   Chunk Size: 4987\nNumber of Blocks: 1\n2026-11-22T00:00:01.000+0000: 0.356: [ParNew: 4K->4K(8K), 38.1 secs]"
    " 6K->6K(9K)After GC:\n, 38.1140000 secs] [Times: user=0.01 sys=0.00, real=38.114 secs] ",
    # SampleSun1_7_0G1_PauseWithComma.txt
    "G1, JDK 7, decimal commas": "2026-11-22T00:00:01.000+0000: 0,0165: [GC pause (young), 38,1140000 secs]\n   [Parallel Time: 50,1 ms, GC Workers: 18]\n"
    "      [GC Worker Start (ms): Min: 367132161,9, Avg: 367132162,2, Max: 367132162,7, Diff: 0,8]\n [Times: user=0,63 sys=0,01, real=38,114 secs] ",
    # SampleSun1_8_0Parallel_Tenuring_PrintGCCause.txt
    "Parallel, JDK 8, ages": "2026-11-22T00:00:01.000+0000: 0.260: [GC (Allocation Failure) \nDesired survivor size 4194304 bytes, new threshold 7 (max 15)\n"
    "[PSYoungGen: 24571K->4081K(28672K)] 24571K->22186K(94208K), 38.1140000 secs] [Times: user=0.02 sys=0.02, real=38.114 secs]",
    # SampleOpenJdk1_8_0-332.txt
    "Shenandoah, JDK 8": "2026-11-22T00:00:01.000+0000: 2.469: [Pause Full (Allocation Failure), start]\n    Using 2 of 2 workers for full gc\n"
    "2026-11-22T00:00:39.114+0000: 2.472: [Pause Full (Allocation Failure) 7943M->6013M(8192M), 38114.000 ms]",
    "a safepoint, JDK 25": '[2026-11-22T00:00:39.114+0000][1.363s][info][safepoint] Safepoint "G1CollectFull", Time since last: 155500 ns, Reaching safepoint: 10700 ns,'
    " At safepoint: 2808000 ns, Leaving safepoint: 4500 ns, Total: 38114000000 ns, Threads: 1 runnable, 12 total",
}  # fmt: skip


@pytest.mark.parametrize("form", UNIFIED)
def test_a_pause_of_every_form(form: str) -> None:
    (found,) = pauses(UNIFIED[form] + "\n")
    assert (int(found["from_ms"]), int(found["to_ms"]), int(found["length_ms"])) == (AT, AT + 38_114, 38_114)
    assert "concurrent" not in found["how"].lower()


def gc(second: int, number: int, what: str) -> str:
    return f"[2026-11-22T00:00:{second:02}.000+0000][gc] GC({number}) {what}\n"


SHORT = "Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 40.200ms"


def test_short_pauses_are_counted_and_the_longest_is_named() -> None:
    text = "".join(gc(n, n, SHORT) for n in range(10)) + gc(11, 10, "Pause Remark 3M->3M(4M) 1.100ms")
    assert pauses(text) == []
    found = watched(text)
    assert (found["count"], found["longest_ms"], int(found["to_ms"]) - int(found["from_ms"])) == ("11", "40", 11_000)
    assert "lacks" not in found


def test_a_file_without_some_of_its_collections_says_so() -> None:
    assert watched(gc(1, 3, SHORT) + gc(2, 4, SHORT) + gc(3, 7, SHORT))["lacks"] == "2"
    restarted = gc(1, 3, SHORT) + gc(2, 4, SHORT) + gc(3, 0, SHORT) + gc(4, 1, SHORT)
    assert "lacks" not in watched(restarted)


def test_a_collection_and_its_safepoint_are_one_pause_with_its_processor_time() -> None:
    text = (
        gc(40, 0, "Pause Full (System.gc()) 510M->498M(512M) 38114.000ms")
        + gc(40, 0, "User=61.03s Sys=0.20s Real=38.11s")
        + "[2026-11-22T00:00:40.001+0000][safepoint] Total time for which application threads were stopped: 38.1150000 seconds, Stopping threads took: 0.0 seconds\n"
    )
    (found,) = pauses(text)
    assert (found["how"], found["cpu_ms"]) == ("Pause Full (System.gc())", "61230")
    assert [p["cpu_ms"] for p in pauses(UNIFIED["G1, JDK 8"])] == ["20"]


def test_pauses_without_a_date_have_no_place_in_time() -> None:
    text = "[40.209s][info][gc] GC(0) Pause Full (Ergonomics) 62M->61M(123M) 38114.000ms\n" * 3
    assert kind_of(text.encode(), fitting=3, lines=3) == "gc_log"
    items = list(READERS["gc_log"](sample_lines(text.encode())))
    assert any(isinstance(item, Broken) and "no date" in item.reason for item in items)
    assert all("from_ms" not in item.captures["columns"] and item.ts is None for item in items if isinstance(item, Observation))


def test_a_log_with_a_few_lines_of_its_collector_is_a_log() -> None:
    line = "[2026-11-22 00:00:01,000] INFO [Worker clientId=connect-1, groupId=g] Joined group (org.apache.kafka.connect.runtime.distributed.WorkerCoordinator:1)\n"
    assert kind_of((line * 4 + gc(1, 0, SHORT) * 3).encode(), fitting=7, lines=7) is None


def test_a_log_with_many_lines_of_its_collector_is_a_log() -> None:
    """Settings are indented as parts of a collection are, and one collection of JDK 8 has thirty lines."""
    record = "[2026-11-22 00:00:01,000] INFO ConsumerConfig values: \n"
    settings = record + "".join(f"\tkey.{n} = value\n" for n in range(100))
    text = settings * 3 + "".join(gc(n, n, SHORT) for n in range(9))
    assert kind_of(text.encode(), fitting=12, lines=text.count("\n")) is None
    collections = "".join(jdk_8(n, PLAIN) + "   [Parallel Time: 7.6 ms, GC Workers: 2]\n" * 29 for n in range(20))
    assert kind_of(collections.encode(), fitting=20, lines=600) == "gc_log"
    assert kind_of((collections + record + collections).encode(), fitting=41, lines=1201) is None
    late = list(READERS["gc_log"](sample_lines((collections + record).encode())))
    assert [item.line for item in late if isinstance(item, Strange)] == [601]


def jdk_8(second: int, what: str) -> str:
    return f"2026-11-22T00:00:{second:02}.000+0000: {second}.000: {what}\n"


PLAIN = "[GC (Allocation Failure) [PSYoungGen: 8K->1K(9K)] 8K->1K(9K), 0.0100000 secs] [Times: user=0.02 sys=0.00, real=0.01 secs]"


def test_a_collection_without_its_length_makes_a_file_of_jdk_8_incomplete() -> None:
    """Its numbers do not show what is missing, so a part of a collection that cannot be read must."""
    whole = "".join(jdk_8(n, PLAIN) for n in range(8))
    assert "lacks" not in watched(whole)
    cut = PLAIN.partition("[PSYoungGen")[0]
    assert watched(whole + jdk_8(9, cut))["lacks"] == "1"
    assert watched(jdk_8(0, cut) + whole.replace("00:00:00", "00:00:02"))["lacks"] == "1"
    assert watched(whole + jdk_8(9, "[GC_new_form 12K]") + jdk_8(10, PLAIN))["lacks"] == "1"
    beside = jdk_8(9, "[GC concurrent-root-region-scan-start]") + jdk_8(
        10, "[CMS-concurrent-mark: 1.0/2.0 secs] [Times: user=2 sys=0.00, real=2.00 secs]"
    )
    assert "lacks" not in watched(whole + beside)


def test_a_remark_of_cms_that_begins_with_a_collection() -> None:
    """As -XX:+CMSScavengeBeforeRemark with -XX:+PrintHeapAtGC prints it (SampleSun1_8_0CMS_ScavengeBeforeRemark_HeapAtGc.txt)."""
    text = jdk_8(1, "[GC (CMS Final Remark) [YG occupancy: 10451 K (47936 K)]{Heap before GC invocations=22 (full 13):") + jdk_8(1, PLAIN)
    text += "1.158: [Rescan (parallel) , 0.0002732 secs]1.158: [1 CMS-remark: 100839K(106496K)] 111291K(154432K), 2.0 secs] [Times: user=2.00 sys=0.00, real=2.00 secs]\n"
    assert [row["length_ms"] for row in pauses(text)] == ["2000"]
    assert "lacks" not in watched(text)


def test_a_pause_is_not_counted_again_with_its_safepoint() -> None:
    stop = "[2026-11-22T00:00:{:02}.000+0000][safepoint] Total time for which application threads were stopped: 0.0403 seconds, Stopping threads took: 0.0 seconds\n"
    assert watched("".join(gc(n, n, SHORT) + stop.format(n) for n in range(1, 6)))["count"] == "5"


def test_a_file_with_only_times_is_a_gc_log() -> None:
    """As `-Xlog:gc*:file=...:time` writes it; its first lines have no number of a collection."""
    text = "[2026-11-22T00:00:01.000+0000] Using G1\n" + "".join(gc(n, n, SHORT).replace("[gc]", "") for n in range(20))
    assert kind_of(text.encode(), fitting=21, lines=21) == "gc_log"
    assert watched(text)["count"] == "20"


def test_a_row_needs_a_second() -> None:
    assert pauses(gc(1, 0, f"Pause Full (System.gc()) 5M->4M(5M) {LEAST_MS - 1}.000ms")) == []
    assert len(pauses(gc(1, 0, f"Pause Full (System.gc()) 5M->4M(5M) {LEAST_MS}.000ms"))) == 1


def ended(ms: int, number: int, length_ms: int, what: str = "Pause Full (Allocation Failure)") -> str:
    cpu = f"[2026-11-22T00:00:{ms // 1000:02}.{ms % 1000:03}+0000][gc,cpu] GC({number}) User={length_ms / 1000:.2f}s Sys=0.00s Real={length_ms / 1000:.2f}s\n"
    return f"[2026-11-22T00:00:{ms // 1000:02}.{ms % 1000:03}+0000][gc] GC({number}) {what} 399M->399M(400M) {length_ms}.000ms\n{cpu}"


def test_short_pauses_with_little_between_them_are_one() -> None:
    """A heap that is full is collected again and again: the process hardly runs, although no collection takes a second."""
    text = "".join(ended(1000 * n, n, 900) for n in range(1, 9)) + ended(20_000, 9, 900)
    found = pauses(text)
    assert sum(int(row["length_ms"]) for row in found) == 8 * 900
    assert all(int(row["length_ms"]) <= 2_000 for row in found), "each is short enough to show that the process did not print meanwhile"
    assert all(row["cpu_ms"] == row["length_ms"] for row in found)
    assert pauses("".join(ended(1000 * n, n, 400) for n in range(1, 9))) == [], "it runs for most of the time"


def test_a_long_pause_may_seem_to_begin_before_a_short_one_has_ended() -> None:
    text = ended(1000, 1, 300, "Pause Young (Allocation Failure)") + ended(39_113, 2, 38_114)
    assert [int(row["length_ms"]) for row in pauses(text)] == [38_114]


def test_a_thread_that_waits_for_zgc_is_no_pause_of_its_process() -> None:
    text = "[2026-11-22T00:00:39.114+0000][info][gc] Allocation Stall (main) 38114.000ms\n[2026-11-22T00:00:40.000+0000][info][gc] Allocation Stall (task) 12.000ms\n"
    (stall,) = pauses(text)
    assert (stall["what"], stall["how"], stall["length_ms"], int(stall["from_ms"])) == ("stalled", "Allocation Stall", "38114", AT)
    assert watched(text)["count"] == "0"


def test_collections_of_jdk_8_without_details_and_the_times_of_their_safepoints() -> None:
    at = "2026-11-22T00:00:{:02}.000+0000: 1.000: "
    text = at.format(1) + "[GC (Allocation Failure)  9K->8K(9K), 2.0000000 secs]\n"
    text += at.format(3) + "Total time for which application threads were stopped: 2.0001000 seconds\n"
    text += at.format(9) + "[GC (Allocation Failure)  9K->8K(9K), 1.5000000 secs]\n"
    assert [(row["how"], row["length_ms"]) for row in pauses(text)] == [("GC (Allocation Failure)", "2000"), ("GC (Allocation Failure)", "1500")]
