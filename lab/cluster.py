# SPDX-License-Identifier: Apache-2.0
"""One run: brokers, Connect workers, consumers and our own programs on their hosts, what was done to them, and what they answer."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import clients
from lab.hosts import KAFKA, SRV, Hosts, Process, call
from lab.releases import BROKER_LAYOUT, CONNECT_LAYOUT, Release, log_settings, main_class
from lab.truth import Sampler, Status, mark_stopped, now_ms, pauses, tasks_of

OFFSETS_PARTITIONS = 12
#: What operators keep in other files, or quieter, than the log of the broker or worker.
BROKER_LEVELS = {"kafka.log": "WARN", "state.change.logger": "WARN", "kafka.controller": "WARN"}
WORKER_LEVELS = {"org.reflections": "ERROR", "org.eclipse.jetty": "WARN", "org.glassfish": "ERROR"}
Settings = Mapping[str, object]


def properties(settings: Settings) -> str:
    """Write settings as a properties file; a setting that is None is left out."""
    return "".join(f"{key}={value}\n" for key, value in settings.items() if value is not None)


def partition_of(group: str) -> int:
    """Return the partition of `__consumer_offsets` that has a group: Java's hash of its name."""
    value = 0
    for letter in group:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return abs(value - (1 << 32) if value & 0x80000000 else value) % OFFSETS_PARTITIONS


@dataclass
class Member:
    """A process with a name (`w2`), its kind (`worker`: also the key that deeds name it by) and the way to start it again."""

    kind: str
    process: Process
    start: Callable[[], Process]


class Run:
    """A cluster that a scenario builds and disturbs. Every method that does something writes a deed with its time.

    Args:
        release: of every process.
        folder: where logs, truth and snapshots are written.
    """

    def __init__(self, release: Release, folder: Path) -> None:
        self.release, self.folder = release, folder
        self.hosts, self.members = Hosts(), dict[str, Member]()
        self.deeds: list[dict[str, Any]] = []
        self.groups: set[str] = set()
        self.bootstrap = ""
        #: Files in `logs/` that no process of Kafka wrote.
        self.witnesses: list[str] = []
        self._stopped: dict[str, list[tuple[int, int]]] = {}
        for name in ("logs", "truth", "witness", "stdout"):
            (folder / name).mkdir(parents=True)
        (KAFKA / "config").mkdir()
        self._sampler, self._status = Sampler(folder / "truth", self.members), Status(self._ask_any)
        self._sampler.start()
        self._status.start()

    # what was done
    def did(self, what: str, **about: object) -> None:
        """Write down what was done, and when."""
        self.deeds.append({"t_ms": now_ms(), "did": what, **{key: str(value) if isinstance(value, Path) else value for key, value in about.items()}})
        print(time.strftime("  %H:%M:%S"), what, *(f"{key}={value}" for key, value in about.items()), flush=True)

    def wait(self, seconds: float) -> None:
        """Let the cluster run."""
        time.sleep(seconds)

    def until(self, what: str, true: Callable[[], object], seconds: float = 60) -> None:
        """Wait until something is true.

        Raises:
            TimeoutError: it is still not true after the limit.
        """
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                raise TimeoutError(f"{what}: not within {seconds:g} s")
            time.sleep(0.2)

    def truth_has(self, name: str, text: str) -> bool:
        """Return True if what a program writes about itself (`truth/NAME.jsonl`) contains a text."""
        path = self.folder / "truth" / f"{name}.jsonl"
        return path.exists() and text in path.read_text(encoding="utf-8")

    def tasks(self, worker: str) -> set[str]:
        """Return the Connect tasks that have a thread in a worker now."""
        return set(tasks_of(self.members[worker].process.threads))

    def log_has(self, name: str, text: str) -> bool:
        """Return True if a log of this host contains a text."""
        return any(text in path.read_text(encoding="utf-8", errors="replace") for path in (self.folder / "logs" / name).glob("*.log"))

    # starting
    def config(self, name: str, settings: Settings) -> Path:
        """Write a properties file that the processes of this run can name."""
        path = KAFKA / "config" / f"{name}.properties"
        path.write_text(properties(settings), encoding="utf-8")
        return path

    def java(
        self,
        host: str,
        log: str,
        layout: str,
        levels: dict[str, str],
        main: str,
        arguments: Sequence[object],
        heap: int = 128,
        collector: str = "Serial",
    ) -> Process:
        """Start a Java program on a host; it logs to `logs/LOG` with a GC log beside it, and what it prints goes to `stdout/HOST.out`."""
        file = self.folder / "logs" / log
        file.parent.mkdir(exist_ok=True)
        name, text = log_settings(self.release, file, layout, levels)
        settings = KAFKA / "config" / f"{host}.{name}"
        settings.write_text(text, encoding="utf-8")
        option = f"-Dlog4j2.configurationFile={settings}" if self.release.log4j2 else f"-Dlog4j.configuration=file:{settings}"
        jvm = [f"-Xmx{heap}m", f"-XX:+Use{collector}GC", "-XX:TieredStopAtLevel=1", option, "-cp", f"{KAFKA}/libs/*:{KAFKA}/apps"]
        if not log.startswith(".."):
            # As Kafka starts its brokers.
            jvm.append(f"-Xlog:gc*:file={file.with_name(f'{file.stem}-gc.log')}:time,tags:filecount=10,filesize=100M")
            jvm += [f"-Dlab.heap={KAFKA / f'{host}.heap'}", f"-Dlab.pauses={self.folder / 'truth' / f'{host}.pauses.jsonl'}"]
        output = self.folder / ("truth" if main.startswith("org.apache.kafka.tools.Verifiable") else "stdout")
        return Process(host, ["java", *jvm, main, *map(str, arguments)], output / (f"{host}.jsonl" if output.name == "truth" else f"{host}.out"))

    def tool(self, main: str, *arguments: object) -> str:
        """Run one of Kafka's command line tools, named by its class without the package, and return what it prints."""
        text = call("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{KAFKA}/libs/*", main_class(KAFKA / "libs", main), *map(str, arguments))
        return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith(("SLF4J", "log4j:")) and " main ERROR " not in line)

    def member(self, kind: str, name: str, start: Callable[[], Process], **about: object) -> None:
        """Start a process under a name, or again under the same name, and write the deed."""
        self.members[name] = Member(kind, start(), start)
        self.did(f"{kind} started", **{kind: name}, ip=self.hosts.address[name], **about)

    def restart(self, name: str) -> None:
        """Start a process that has ended again, with the same settings."""
        member = self.members[name]
        member.process = member.start()
        if member.kind == "broker":
            self.did("broker started", broker=int(name.rsplit("-", 1)[1]))
            return
        first = next(deed for deed in self.deeds if deed["did"] == f"{member.kind} started" and deed[member.kind] == name)
        self.did(f"{member.kind} started", **{key: value for key, value in first.items() if key not in ("t_ms", "did")})

    def brokers(self, count: int = 1, settings: Settings | None = None, *, prefix: str = "b") -> str:
        """Start the brokers of one Kafka cluster (KRaft, each also a controller) and return their bootstrap servers."""
        first = len([m for m in self.members.values() if m.kind == "broker"]) + 1
        numbers = range(first, first + count)
        addresses = {number: self.hosts.add(f"{prefix}{number}") for number in numbers}
        cluster = base64.urlsafe_b64encode(uuid.UUID(int=uuid.uuid4().int & ~(0xFC << 120)).bytes).decode().rstrip("=")
        replicas = min(count, 3)
        for number, address in addresses.items():
            path = self.config(
                f"b{number}",
                {
                    "process.roles": "broker,controller",
                    "node.id": number,
                    "controller.quorum.voters": ",".join(f"{n}@{a}:9093" for n, a in addresses.items()),
                    "controller.listener.names": "CONTROLLER",
                    "listeners": f"PLAINTEXT://{address}:9092,CONTROLLER://{address}:9093",
                    "advertised.listeners": f"PLAINTEXT://{address}:9092",
                    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                    "log.dirs": KAFKA / "data" / f"b{number}",
                    "num.partitions": 6,
                    "default.replication.factor": replicas,
                    "offsets.topic.num.partitions": OFFSETS_PARTITIONS,
                    "offsets.topic.replication.factor": replicas,
                    "transaction.state.log.num.partitions": 4,
                    "transaction.state.log.replication.factor": replicas,
                    "transaction.state.log.min.isr": 1,
                    "share.coordinator.state.topic.num.partitions": 2 if self.release.numbers >= (4, 1) else None,
                    "share.coordinator.state.topic.replication.factor": replicas if self.release.numbers >= (4, 1) else None,
                    "share.coordinator.state.topic.min.isr": 1 if self.release.numbers >= (4, 1) else None,
                    "group.initial.rebalance.delay.ms": 500,
                    "group.min.session.timeout.ms": 3000,
                    # Two cores run everything: small pools and buffers.
                    "num.network.threads": 2,
                    "num.io.threads": 4,
                    "log.cleaner.dedupe.buffer.size": 5_000_000,
                    "offsets.load.buffer.size": 1_000_000,
                    **(settings or {}),
                },
            )
            self.tool("StorageTool", "format", "-t", cluster, "-c", path)
        for number in numbers:
            self.members[f"broker-{number}"] = Member("broker", self._start_broker(number, prefix), lambda n=number: self._start_broker(n, prefix))
        for number in numbers:
            self.until(f"broker {number} starts", lambda n=number: self.log_has(f"broker-{n}", "Kafka Server started"))
        self.did("brokers started", n=count, offsets_rf=int(str((settings or {}).get("offsets.topic.replication.factor", replicas))))
        bootstrap = ",".join(f"{address}:9092" for address in addresses.values())
        self.bootstrap = self.bootstrap or bootstrap
        return bootstrap

    def _start_broker(self, number: int, prefix: str) -> Process:
        config = KAFKA / "config" / f"b{number}.properties"
        return self.java(f"{prefix}{number}", f"broker-{number}/server.log", BROKER_LAYOUT, BROKER_LEVELS, "kafka.Kafka", [config], heap=512)

    def worker(self, name: str, group: str, heap: int = 384, collector: str = "Serial", **settings: object) -> None:
        """Start a distributed Connect worker; a setting's name has `_` for `.`."""
        address = self.hosts.add(name)
        json_converter = "org.apache.kafka.connect.json.JsonConverter"
        config = self.config(
            name,
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": group,
                "listeners": f"http://{address}:8083",
                "rest.advertised.host.name": address,
                "key.converter": json_converter,
                "value.converter": json_converter,
                # A scan of all jars takes each worker half a minute of a busy machine.
                "plugin.discovery": "service_load" if self.release.numbers >= (3, 6) else None,
                **{f"{what}.storage.topic": f"{group}-{what}s" for what in ("offset", "config")},
                "status.storage.topic": f"{group}-status",
                **{f"{what}.storage.replication.factor": 1 for what in ("offset", "config", "status")},
                "offset.storage.partitions": 3,
                "status.storage.partitions": 2,
                "offset.flush.interval.ms": 5000,
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 1500,
                "rebalance.timeout.ms": 20000,
                "scheduled.rebalance.max.delay.ms": 8000,
                "consumer.metadata.max.age.ms": 5000,
                **{key.replace("_", "."): value for key, value in settings.items()},
            },
        )
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        self.groups.add(group)
        start = lambda: self.java(name, f"{name}/connect.log", CONNECT_LAYOUT, WORKER_LEVELS, main, [config], heap, collector)  # noqa: E731
        self.member("worker", name, start, group=group, skew=None)

    def mirror(self, name: str, clusters: Mapping[str, str], **settings: object) -> None:
        """Start a node of MirrorMaker 2's own driver that copies between all clusters, each with its bootstrap servers; a setting's name has `_` for `.`."""
        self.hosts.add(name)
        flows = [f"{source}->{target}.enabled" for source in clusters for target in clusters if source != target]
        config = self.config(
            name,
            {
                "clusters": ",".join(clusters),
                **{f"{alias}.bootstrap.servers": servers for alias, servers in clusters.items()},
                **dict.fromkeys(flows, "true"),
                **{f"{what}.storage.replication.factor": 1 for what in ("offset", "config", "status")},
                "admin.timeout.ms": 5000,
                "dedicated.mode.enable.internal.rest": "true",
                "plugin.discovery": "service_load",
                "listeners": f"http://{self.hosts.address[name]}:8083",
                **{key.replace("_", "."): value for key, value in settings.items()},
            },
        )
        main = "org.apache.kafka.connect.mirror.MirrorMaker"
        start = lambda: self.java(name, f"{name}/mirror.log", CONNECT_LAYOUT, WORKER_LEVELS, main, [config], 384)  # noqa: E731
        self.member("mirror", name, start)

    def consumer(self, name: str, group: str, topic: str, *arguments: object, share: bool = False, bootstrap: str | None = None) -> None:
        """Start Kafka's own verifiable consumer, which prints each assignment and each batch as JSON: `truth/NAME.jsonl`."""
        self.hosts.add(name)
        flags = ["--bootstrap-server", bootstrap or self.bootstrap, "--topic", topic, "--group-id", group, *arguments]
        if not share and "--group-protocol" not in arguments:  # with KIP-848 the broker sets the session timeout
            flags += ["--session-timeout", 6000]
        main = f"org.apache.kafka.tools.Verifiable{'Share' if share else ''}Consumer"
        self.groups.add(group)
        start = lambda: self.java(name, f"{name}/consumer.log", BROKER_LAYOUT, {}, main, flags)  # noqa: E731
        self.member("consumer", name, start, group=group, topic=topic, share=share, arguments=" ".join(map(str, arguments)))

    def feed(self, topic: str, per_second: int = 20, bootstrap: str | None = None) -> None:
        """Start Kafka's own verifiable producer on host `feeder`, and wait until it writes."""
        self.hosts.add("feeder")
        flags = ["--bootstrap-server", bootstrap or self.bootstrap, "--topic", topic, "--max-messages", -1, "--throughput", per_second]
        main = "org.apache.kafka.tools.VerifiableProducer"
        start = lambda: self.java("feeder", "../stdout/feeder.log", BROKER_LAYOUT, {}, main, [*flags, "--repeating-keys", 60], heap=96)  # noqa: E731
        self.member("feeder", "feeder", start, topic=topic)
        self.until("the feeder writes", lambda: self.truth_has("feeder", "producer_send_success"))

    def app(
        self, kind: str, name: str, main: str, heap: int = 160, levels: dict[str, str] | None = None, collector: str = "Serial", **settings: object
    ) -> None:
        """Start one of our own programs (`lab/apps`); it writes its truth to `truth/NAME.jsonl`. A setting's name has `_` for `.`."""
        self.hosts.add(name)
        truth = self.folder / "truth" / f"{name}.jsonl"
        config = self.config(name, {"bootstrap.servers": self.bootstrap, **{key.replace("_", "."): value for key, value in settings.items()}})
        start = lambda: self.java(name, f"{name}/{kind}.log", BROKER_LAYOUT, levels or {}, main, [config, truth], heap, collector)  # noqa: E731
        self.member(kind, name, start, **settings, group=settings.get("group_id"))

    def client(self, name: str, library: str, group: str, topic: str, **settings: object) -> None:
        """Start our consumer of another client library (`lab/clients.py`); what it prints is its log, and its truth is `truth/NAME.jsonl`."""
        self.hosts.add(name)
        log = self.folder / "logs" / name / "consumer.log"
        config = KAFKA / "config" / f"{name}.json"
        about = {"bootstrap": self.bootstrap, "group": group, "topic": topic, "client_id": f"orders-{name}", "fault": str(KAFKA / name), **settings}
        config.write_text(json.dumps(about), encoding="utf-8")
        command = clients.command(library, KAFKA / "clients", [config, self.folder / "truth" / f"{name}.jsonl"])
        self.groups.add(group)
        self.member("consumer", name, lambda: Process(name, command, log), group=group, topic=topic, library=library, **settings)

    def watch(self, *groups: str) -> None:
        """Start the program that asks the brokers for transactions, offsets and members of groups, on a host that nothing cuts off."""
        self.hosts.add("watcher")
        self.groups |= set(groups)
        arguments = [self.bootstrap, self.folder / "truth", *groups]
        self.members["watcher"] = Member(
            "watcher", process := self.java("watcher", "../stdout/watcher.log", BROKER_LAYOUT, {}, "Watcher", arguments), lambda: process
        )

    # disturbing
    def _signal(self, name: str, number: signal.Signals, what: str, **about: object) -> None:
        member = self.members[name]
        member.process.send(number)
        if number == signal.SIGKILL:
            member.process.wait(10)
        key = {"broker": int(name.rsplit("-", 1)[1])} if member.kind == "broker" else {member.kind: name}
        self.did(f"{member.kind} {what}", **key, **about)

    def freeze(self, names: str | Sequence[str], seconds: float, until: Callable[[], object] = lambda: True, **about: object) -> None:
        """Stop processes, as a suspended machine does, until something is true and for some time more."""
        names = [names] if isinstance(names, str) else names
        for name in names:
            self._signal(name, signal.SIGSTOP, "paused", **about)
        self.until(f"the others go on without {', '.join(names)}", until)
        self.wait(seconds)
        for name in names:
            self._signal(name, signal.SIGCONT, "resumed")

    def kill(self, name: str, **about: object) -> None:
        """End a process without any warning."""
        self._signal(name, signal.SIGKILL, "killed", **about)

    def ended(self, name: str, seconds: float = 60, **about: object) -> int:
        """Wait until a process is killed by something else than this program, and return when it was."""
        member = self.members[name]
        if not member.process.wait(seconds):
            raise TimeoutError(f"{name} still runs after {seconds:g} s")
        self._signal(name, signal.SIGKILL, "killed", **about)
        return int(self.deeds[-1]["t_ms"])

    def paused_itself(self, name: str, least_ms: int, machine: Sequence[str]) -> None:
        """Write the deeds of a process that did not run at times, as its own pulse says.

        Args:
            name: of the process.
            least_ms: pauses as long as this are root causes; shorter ones only may be.
            machine: what a witness may truly call them.
        """
        kind = self.members[name].kind
        spans = pauses(self.folder / "truth" / f"{name}.pauses.jsonl")
        for begin, end in spans:
            about = {kind: name, "machine": list(machine), "is_minor": end - begin < least_ms}
            self.deeds += [{"t_ms": begin, "did": f"{kind} paused", **about}, {"t_ms": end, "did": f"{kind} resumed", kind: name}]
        self.deeds.sort(key=lambda deed: deed["t_ms"])
        self._stopped[name] = spans

    def witness(self, path: str, text: str) -> None:
        """Save what a machine or a platform says, beside the logs."""
        file = self.folder / "logs" / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.witnesses.append(path)

    def stop(self, name: str, seconds: float = 30, **about: object) -> None:
        """Ask a process to end, and wait until it has ended."""
        self._signal(name, signal.SIGTERM, "stopping")
        if not self.members[name].process.wait(seconds):
            raise TimeoutError(f"{name} still runs {seconds:g} s after it was asked to end")
        self._signal(name, signal.SIGTERM, "stopped", **about)

    def cut_off(self, name: str, seconds: float) -> None:
        """Pull the cable of a host out for a time."""
        kind = self.members[name].kind
        self.hosts.cable(name, plugged=False)
        self.did(f"{kind} cut off", **{kind: name})
        self.wait(seconds)
        self.hosts.cable(name, plugged=True)
        self.did(f"{kind} healed", **{kind: name})

    # Connect's REST
    def rest(self, worker: str, method: str, path: str, body: object = None, seconds: float = 10) -> Any:  # noqa: ANN401
        """Send a request to a worker and return its answer.

        Raises:
            OSError: it does not answer, or refuses; the message has the answer.
        """
        data = json.dumps(body).encode() if body is not None else None
        url = f"http://{self.hosts.address[worker]}:8083{path}"
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=seconds) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            raise OSError(f"{method} {path}: {error.code} {error.read()[:300]!r}") from error
        return json.loads(text) if text else None

    def _ask_any(self) -> tuple[str, Any] | None:
        for name, member in list(self.members.items()):
            if member.kind == "worker" and member.process.state == "running":
                try:
                    return name, self.rest(name, "GET", "/connectors?expand=status", seconds=1)
                except (OSError, ValueError):
                    continue
        return None

    def connector(self, worker: str, name: str, kind: str, **settings: object) -> None:
        """Create or change a connector, as soon as the worker accepts it; a setting's name has `_` for `.`."""
        config = {"connector.class": kind, **{key.replace("_", "."): str(value) for key, value in settings.items()}}

        def accepted() -> bool:
            if self.members[worker].process.state == "gone":
                raise RuntimeError(f"{worker} has ended: see its log")
            try:
                self.rest(worker, "PUT", f"/connectors/{name}/config", config)
            except OSError as error:
                if " 400 " in str(error):
                    raise
                return False
            return True

        self.until(f"{worker} accepts connector {name}", accepted, 120)
        self.did("connector put", connector=name, via=worker)

    def restart_task(self, connector: str, number: int) -> None:
        """Ask for the restart of one task, as an operator does."""
        self.rest("w1", "POST", f"/connectors/{connector}/tasks/{number}/restart")
        self.did("task restarted", task=f"{connector}-{number}", connector=connector, via="w1")

    # the end
    def save(self, name: str, main: str, *arguments: object) -> None:
        """Save what one of Kafka's command line tools prints to `witness/`, as an operator pastes it: after the command itself."""
        script = {"TransactionsCommand": "kafka-transactions.sh", "DumpLogSegments": "kafka-dump-log.sh"}.get(main)
        line = f"$ bin/{script} {' '.join(map(str, arguments))}\n" if script else ""
        stamp = time.strftime("# %Y-%m-%dT%H:%M:%SZ\n", time.gmtime()) if main == "TransactionsCommand" else ""
        (self.folder / "witness" / name).write_text(stamp + line + self.tool(main, *arguments), encoding="utf-8")

    def save_segments(self, topic: str, *arguments: object) -> None:
        """Save a dump of the segments of each partition of a topic to `witness/`."""
        for log in sorted((KAFKA / "data").glob(f"b*/{topic}-[0-9]*/*.log")):
            number = log.parent.name.rsplit("-", 1)[1]
            self.save(f"dump-{topic}-{number}.txt", "DumpLogSegments", *arguments, "--files", str(log))

    def snapshots(self) -> None:
        """Save what a careful operator saves from the live cluster, to `witness/`."""
        folder = self.folder / "witness"
        server = ("--bootstrap-server", self.bootstrap, "--describe")
        texts = {"kafka-topics-describe.txt": ("TopicCommand", *server)}
        if self.groups:
            texts["kafka-consumer-groups-state.txt"] = ("ConsumerGroupCommand", *server, "--all-groups", "--state")
            texts["kafka-consumer-groups-members.txt"] = ("ConsumerGroupCommand", *server, "--all-groups", "--members", "--verbose")
        for group in sorted(self.groups):
            partition = partition_of(group)
            for log in sorted((KAFKA / "data").glob(f"b*/__consumer_offsets-{partition}/*.log")):
                broker = log.parts[-3].removeprefix("b")
                texts[f"dump-offsets-broker{broker}-{partition}.txt"] = ("DumpLogSegments", "--offsets-decoder", "--files", str(log))
        for name, command in texts.items():
            (folder / name).write_text(self.tool(*command), encoding="utf-8")
        for name, member in self.members.items():
            if member.kind == "worker" and member.process.state == "running":
                for path, what in (("/connectors?expand=status&expand=info", "connectors"), ("/", "root")):
                    (folder / f"rest-{name}-{what}.json").write_text(json.dumps(self.rest(name, "GET", path)) + "\n", encoding="utf-8")
        for path in (KAFKA / "config").glob("*.properties"):
            if not path.name.endswith("log4j.properties"):
                shutil.copy(path, folder)

    def finish(self) -> None:
        """End truth, then all processes: clients in order, brokers last."""
        self._sampler.stop()
        self._status.stop()
        self.did("recording ends")
        for name, spans in self._stopped.items():
            if self.members[name].kind == "worker":
                mark_stopped(self.folder / "truth" / "threads.jsonl", name, spans)
        clients = [m.process for m in self.members.values() if m.kind != "broker"]
        for number, patience in ((signal.SIGCONT, 0.0), (signal.SIGTERM, 9.0), (signal.SIGKILL, 5.0)):
            for process in clients:
                process.send(number)
            end = time.monotonic() + patience
            for process in clients:
                process.wait(max(0.0, end - time.monotonic()))
        for member in self.members.values():
            member.process.send(signal.SIGCONT)
            member.process.send(signal.SIGKILL)

    def truth(self, scenario: str, seed: int, notes: str) -> dict[str, Any]:
        """Return what `truth.json` contains."""
        return {
            "version": str(self.release),
            "scenario": scenario,
            "seed": seed,
            "notes": notes,
            "deeds": self.deeds,
            "status": self._status.answers,
            "witnesses": sorted({*self.witnesses, *(str(p.relative_to(self.folder / "logs")) for p in (self.folder / "logs").glob("*/*-gc.log*"))}),
        }


RECORDING = SRV / "run"
