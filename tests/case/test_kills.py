"""A command that is killed at any step of a publication leaves the old case or the new one, whole, and the next writer needs no help."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

#: Publishes other views and SQL in a process of its own, which is killed before each change of the file system in turn, and looks at what is left.
KILLING = """
import json, os, shutil, signal, sys
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
from forensics.case import folder

work = Path(sys.argv[1])
CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.truncate"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT

def publish(knob):
    with folder.writing(work / "case") as writer:
        case = writer.case or writer.finish([], {"knobs": {}})
        target = folder.new_views_folder(case)
        for name in ("finding", "incident"):
            (target / name).mkdir(parents=True)
            pq.write_table(pa.table({"a": [knob]}), target / name / "part-0.parquet")
        built = {name: str(target / name) for name in ("finding", "incident")}
        folder.publish(folder.with_views(case, built, {"knob": knob}), {"open.sql": f"SELECT {knob};", "sql/a.sql": f"-- {knob}", "sql/b.sql": "--"})

def killed_at(step):
    seen = 0
    def hook(event, args):
        nonlocal seen
        if event in CHANGES or (event == "open" and isinstance(args[2], int) and args[2] & WRITES):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    publish(2)

publish(1)
shutil.copytree(work / "case", work / "sound")
left, step = {"old": 0, "new": 0}, 0
while True:
    step += 1
    shutil.rmtree(work / "case")
    shutil.copytree(work / "sound", work / "case")
    if not (child := os.fork()):
        killed_at(step)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
        break
    case = folder.open_case(work / "case")
    knob = case.thresholds["knob"]
    for path in case.views().values():
        assert pq.read_table(path)["a"].to_pylist() == [knob], step
    with folder.writing(work / "case") as writer:
        assert writer.case.manifest == case.manifest, step
    assert (work / "case" / "open.sql").read_text() == f"SELECT {knob};", step
    publish(3)
    assert {p.name for p in (work / "case").iterdir()} <= {"case.json", "open.sql", "sql", "tables", "views", ".lock"}, step
    assert len(list((work / "case" / "views").iterdir())) == 1, step
    left["old" if knob == 1 else "new"] += 1
assert folder.open_case(work / "case").thresholds["knob"] == 2
print(json.dumps(left))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no forks")
def test_a_kill_at_any_step_of_a_publication_leaves_a_whole_case(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    done = subprocess.run([sys.executable, "-c", KILLING, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    left = json.loads(done.stdout)
    record_property("inputs", sum(left.values()))
    record_property("found", f"{left['old']} old cases and {left['new']} new ones, all whole")
    assert left["old"] > 10
    assert left["new"] > 5
