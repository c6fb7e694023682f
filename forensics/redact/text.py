"""Remove names from text: from values of a known kind, and from running text, where known names are replaced and every word that is neither Kafka's
nor plain English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from forensics.catalogue.threads import BEGIN, FRAME, HEAD, NUMBERS, STATE
from forensics.redact.assignment_bytes import hides_text, rewritten_decimals
from forensics.redact.pseudonyms import DASHED, IPV4, IPV6, MAC, UUID, Pseudonyms, is_foreign_six
from forensics.redaction import hide

#: Classes of Kafka, of Java and of libraries that are commonly used with them: they occur everywhere.
_KNOWN_CLASS = (
    r"(?<![\w.])(?:org\.apache|java|javax|jdk|sun|com\.sun|scala|kafka|org\.eclipse\.jetty|org\.glassfish|io\.confluent|io\.debezium|io\.strimzi|io\.netty|"
    r"org\.slf4j|org\.springframework|io\.aiven|com\.fasterxml|com\.google\.common|io\.lenses|com\.mongodb\.kafka|com\.datastax|io\.micrometer|reactor)"
    r"(?:\.[a-z_][\w$]{0,60}){0,12}(?:\.[A-Z][\w$]{0,120})++(?:@[0-9a-f]{1,8})?+(?!\w|\.\w)"
)
_TASK_CLIENT = re.compile(r"(connector-(?:consumer|producer|dlq-producer|adminclient)-)(.+)(-\d+)", re.DOTALL)
_OWN_CLIENT = re.compile(r"((?:consumer|producer|adminclient)-)(.+)(-\d+)", re.DOTALL)
_STORE_CLIENT = re.compile(r"(.+)(-(?:offsets|configs|statuses|status|shared-admin))", re.DOTALL)
_MEMBER = re.compile(rf"(.+)-({UUID.pattern})", re.DOTALL)
_NUMBERED = re.compile(r"(.+)-(\d+)", re.DOTALL)
_TASK_THREAD = re.compile(r"(task-thread-)(.+)(-\d+)", re.DOTALL)
_FURTHER = re.compile(r" \(\d{1,4}\)$")
_HEARTBEAT = re.compile(r"(kafka-coordinator-heartbeat-thread \| )(.+)", re.DOTALL)
_SINK_GROUP = "connect-"
_ADDRESS = re.compile(
    rf"(?P<before>[\s/]*(?:\d+@)?)(?:(?P<scheme>[\w.+-]+)://)?(?P<host>(?:[^\s/:@]*@)?(?:\[[^\]]*\]|{IPV6.pattern})|[^\s/:]*)(?P<rest>.*)", re.DOTALL
)
_FRAME = re.compile(r"\s*(?:at [\w.$/@<>]+\(.*|\.\.\. \d+ (?:more|common frames omitted).*)")
_OWN_FRAME = re.compile(
    r"\s*at (?:(?:app|java\.base|platform)//?(?:[\w.@]*/)?)?(?:org\.apache|java|javax|jdk|sun|scala|kafka|org\.eclipse\.jetty|org\.glassfish)\."
)
_FRACTION = re.compile(r"-?\d+\.\d+(?:[eE][+-]?\d+)?")
#: A whole value that is a number, a size or a ratio.
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LONG_NUMBER = 6
#: Keys whose numbers are durations, sizes or counts.
_MEASURE = re.compile(r"(?:^|[._-])(?:ms|s|sec|seconds|minutes|hours|days|bytes|size|max|min|count|messages|records|port)$", re.IGNORECASE)
#: Numbers that Java prints for no limit, for no time limit, and for the node of a coordinator.
_CONSTANT = re.compile(r"214748(?:36\d\d|2[6-9]\d\d|3[0-5]\d\d)|9223372036854775807|4294967295")
_WHEN = r"(?<!\d)(?:19|20)\d\d-[01]\d-[0-3]\d(?:[T ][0-2]\d:[0-5]\d(?::\d\d(?:[.,]\d{1,9})?)?)?(?!\d)"
#: Grouped numbers of cards and telephones.
_GROUPED = (
    r"(?<![\w.-])(?:\d{4}(?P<gap>[ -])\d{4}(?P=gap)\d{4}(?P=gap)\d{1,7}|\d{4}[ -]\d{6}[ -]\d{5}|\+[1-9](?=(?:[ ./()-]{0,2}\d){7})(?:[ ./()-]{0,2}\d){7,14}|"
    r"\d{3}-\d\d-\d{4}|756(?:\.\d{4}){2}\.\d\d|[A-Z]{2}\d\d(?: [0-9A-Z]{4}){3,7}(?: [0-9A-Z]{1,3})?|"
    r"\(?0[1-9]\d{1,3}\)?[ /-]{1,2}\d{3,}(?:[ /-]\d{2,})*|\(?[2-9]\d\d\)?[ -]\d{3}-\d{4})(?![\w]|[.-]\d)"
)
_SIZE = re.compile(r"\d+(?:ns|us|ms|s|m|h|d|b|kb|mb|gb|k|g|kib|mib|gib|x|st|nd|rd|th|z|t\d\d)", re.IGNORECASE)
_HUMP = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NUMBERS = re.compile(r"(?<![\w.-])-?\d{1,3}(?:, -?\d{1,3}){5,}(?![\w.])")
_FEW = 2
#: Kinds of names that users choose.
_NAMED = ("group", "connector", "topic", "client", "instance", "host")
_SHORTEST_NUMBERS = 16
_ITEMS = re.compile(r"[^\s,;\[\](){}\"'=]+")
_PARTITION_ITEMS = re.compile(r"[^\s,;:\[\](){}\"'=]+")
_AROUND_PARTITIONS = {"map", "set", "Set", "List", "partition", "begin_offset", "undefined", "earliest", "latest", "null"}
_PYTHON_TOPIC = re.compile(r"(?<=topic=')[^']*|(?<=topic=u')[^']*")
_AROUND_SOURCES = {"pod", "container", "pods", "containers", ""}
_WORD = re.compile(r"[^\W_]+")
#: Dates and times of rotated files, and their short numbers after a dot.
_IN_FILE_NAMES = re.compile(
    r"(?<!\d)(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01])(?:[-_.T]?\d\d(?:[-_.:]?\d\d){0,2})?Z?(?!\d)|(?<=\.)\d{1,4}(?![^\W_])"
)
_FILE_NAME = re.compile(r"\.(?:log|out|txt|json|err|csv|gz)(?:\W|$)")
#: Addresses that stay, or that are pseudonyms.
_OUR_ADDRESSES = ("198.18.", "198.19.", "127.", "0.")
_OUR_DASHED = tuple(begin.replace(".", "-") for begin in _OUR_ADDRESSES)
_DASHED_HOST = re.compile(r"(?<![^\W_])ip-(\d{1,3}(?:-\d{1,3}){3})(?!\d)")
#: Addresses of private networks, even directly before or after a letter.
_PRIVATE = re.compile(r"(?<!\d)(?<!\d\.)(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2}(?!\d|\.\d)")
_MAX_REMEMBERED = 200_000

#: Kind of name in the value of a setting, by its key.
_KEYS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("group", r"(?:^|\.)group\.id$|^group$|consumer\.group$|(?:^|\.)application\.id$"),
        ("client", r"(?:^|\.)client\.?id$|client\.id\.prefix$"),
        ("instance", r"(?:^|\.)group\.instance\.id$"),
        ("transaction", r"transactional\.id(?:\.prefix)?$"),
        ("topic", r"(?:^|\.)topics?$|topic\.(?:name|prefix)$|^topics?\.(?!regex)|deadletterqueue\.topic\.name$|_topic$"),
        ("connector", r"^name$|^connector$"),
        ("address", r"bootstrap\.servers$|listeners?$|advertised|(?:^|\.)hosts?(?:\.?names?)?$|ur[li]s?$|address(?:es)?$|voters$|servers$|zookeeper\.connect$|endpoints?$"),
        ("rack", r"(?:^|\.)rack(?:\.id)?$"),
        ("user", r"user(?:name)?$|principal$|super\.users$|owner$|(?:^|\.)database(?:\.\w+)?$|schema$|table(?:s|\.\w+)?$"),
    )
)  # fmt: skip


class Names:
    """Names in the evidence, by kind."""

    def __init__(self) -> None:
        self.by_kind: dict[str, set[str]] = {}
        #: Keys of printed settings, which are not names even if they read like one.
        self.keys: set[str] = set()
        #: Numbers of partitions of __consumer_offsets in the evidence.
        self.offsets_partitions: set[int] = set()

    def add(self, kind: str, name: str) -> None:
        """Add a name."""
        if name:
            self.by_kind.setdefault(kind, set()).add(name)

    def of(self, *kinds: str) -> set[str]:
        """Return all names of some kinds."""
        return set().union(*(self.by_kind.get(kind, set()) for kind in kinds))


class Rewriter:
    """A replacer of names.

    Args:
        pseudonyms: pseudonyms of words and addresses.
        names: all names in the evidence.
        literals: text of the catalogue's patterns, in which names are not replaced.
        keys: JSON keys that patterns use.
    """

    def __init__(self, pseudonyms: Pseudonyms, names: Names, literals: str = "", keys: Collection[str] = ()) -> None:
        self.pseudonyms, self._names, self._literals = pseudonyms, names, literals
        self._keys = frozenset(keys)
        self._numbers_of_kafka = frozenset(re.findall(r"\d{6,}", literals))
        self._vocabulary = pseudonyms.vocabulary
        self._plain = {kind: {name for name in names.of(kind) if self._is_plain(name)} for kind in ("group", "connector")}
        self._words: dict[str, str] = {}
        self._setting_keys: dict[str, str] = {}
        self._by_kind: dict[str, Callable[[str], str]] = {
            "group": self._group, "client": self._client, "member": self._member, "address": self._address, "task": self._numbered, "partition": self._partition,
            "topic": self._topic, "id": self._id, "path": self.running, "thread": self.thread, "class": self.running, "words": self.running,
            "public": str, "resource": self.resource, "connector": self._whole, "setting": self.setting_key, "dump": self.dump,
        }  # fmt: skip
        self._known: dict[str, str] = {}
        #: Names of one or two letters, which may be words in a sentence. They are names next to punctuation and another word, as in `a.out`.
        self._short: dict[str, str] = {}
        #: Hosts whose name is a word of Kafka, such as `broker`: they are hosts if a port follows.
        self._hosts: dict[str, str] = {}
        self._leak: re.Pattern[str] | None = None
        self._compile()

    def learn(self) -> None:
        """Prepare for running text; call it after all words of names have their pseudonyms."""
        self._words.clear()
        for kind in sorted(self._names.by_kind, key=_rank):
            for name in sorted(self._names.by_kind[kind]):
                if name not in self._known and self._may_run(name) and (mapped := self.of_kind(kind, name)) != name:
                    self._known[name] = mapped
        self._hosts = {name: mapped for name in sorted(self._names.of("host")) if name not in self._known and (mapped := self._whole(name)) != name}
        few = sorted(name for name in self._names.of(*_NAMED) if name not in self._known and len(name) <= _FEW and name.isalpha())
        self._short = {name: mapped for name in few if (mapped := self._whole(name)) != name}
        self._compile()
        names = [name for name in self._known if not name.isdigit()]
        self._leak = re.compile(rf"(?<![^\W_])(?:{one_of(names)})(?![^\W_])") if names else None

    def _compile(self) -> None:
        """Compile the expressions for tokens of running text, and for those in text that only resembles an IPv6 address."""
        parts = self._alternatives()
        self._tokens = re.compile("|".join(parts))
        self._simple_tokens = re.compile("|".join(part for part in parts if not part.startswith("(?P<six>")))

    def _alternatives(self) -> list[str]:
        parts = [
            rf"(?P<uuid>(?<![0-9A-Za-z]){UUID.pattern}(?![0-9A-Za-z]))",
            f"(?P<cls>{_KNOWN_CLASS})",
            *([rf"(?P<short>(?<=[^\W_][-_./|])(?:{few})(?![^\W_])|(?<![^\W_])(?:{few})(?=[-_./|][^\W_]))"] if (few := one_of(self._short)) else []),
            f"(?P<when>{_WHEN})",
            f"(?P<grouped>{_GROUPED})",
            f"(?P<mac>{MAC.pattern})",
            f"(?P<six>{IPV6.pattern})",
            f"(?P<four>{IPV4.pattern})",
            f"(?P<dashed>{DASHED.pattern})",
            r"(?P<word>[^\W_]+)",
        ]
        if self._hosts:
            hosts = one_of(self._hosts)
            parts.insert(0, rf"(?P<host>(?<![\w.-])(?:{hosts})(?=:\d{{2,5}}(?!\d))|(?<=//)(?:{hosts})(?![\w.-]))")
        if self._known:
            parts.insert(0, rf"(?P<known>(?<![^\W_])(?:{one_of(self._known)})(?![^\W_]))")
        return parts

    def _is_plain(self, name: str) -> bool:
        """Return True if a name consists only of words that stay inside names."""
        words = re.findall(r"[^\W_]+", name)
        return (
            not IPV4.search(name)
            and not IPV6.search(name)
            and not DASHED.search(name)
            and all(w.isdigit() or w in self._vocabulary.inside for w in words)
        )

    def _may_run(self, name: str) -> bool:
        """Return True if a name may be replaced anywhere because it is not a word of Kafka."""
        if name.isalnum():
            return len(name) > 2 and name.lower() not in self._vocabulary.running  # noqa: PLR2004
        words = re.findall(r"[^\W_]+", name)
        if not any(not w.isdigit() for w in words) or len(name) < 3:  # noqa: PLR2004
            return False
        return not (all(w.lower() in self._vocabulary.running for w in words) and (name in self._literals or name in self._names.keys))

    # --- text of a kind

    def of_kind(self, kind: str, text: str) -> str:
        """Return the pseudonym of a name of a kind."""
        found = self._by_kind.get(kind)
        return found(text) if found else self._whole(text)

    def _whole(self, name: str) -> str:
        """Return the pseudonym of a name that is not a default: at least one word of it is replaced."""
        mapped = self.pseudonyms.name(name)
        return mapped if mapped != name else self.pseudonyms.name(name, ("localhost",))

    def _group(self, name: str) -> str:
        connector = name.removeprefix(_SINK_GROUP)
        if connector != name and connector in self._plain["connector"]:
            return _SINK_GROUP + self._whole(connector)
        return self._whole(name)

    def _client(self, name: str) -> str:
        if m := _TASK_CLIENT.fullmatch(name):
            return m[1] + self._whole(m[2]) + m[3]
        if (m := _OWN_CLIENT.fullmatch(name)) and m[2] in self._plain["group"]:
            return m[1] + self._group(m[2]) + m[3]
        if (m := _STORE_CLIENT.fullmatch(name)) and m[1] in self._plain["group"]:
            return self._group(m[1]) + m[2]
        return self.pseudonyms.name(name)

    def _member(self, name: str) -> str:
        if m := _MEMBER.fullmatch(name):
            owner = self._whole(m[1]) if m[1] in self._names.by_kind.get("instance", ()) else self._client(m[1])
            return f"{owner}-{self.pseudonyms.uuid(m[2])}"
        return self.pseudonyms.name(name)

    def _address(self, text: str) -> str:
        found = _ADDRESS.fullmatch(text)
        if found is None or (text.startswith("/") and not found["scheme"]):
            return self.running(text)
        if any(six.start() < found.end("host") < six.end() for six in IPV6.finditer(text)):
            return self._whole(text)  # a sign before an address without brackets: the text before the first colon is not a host
        scheme, host = found["scheme"], found["host"]
        user, at, bare = host.rpartition("@")
        before = self.running(user) + at if at else ""
        return f"{found['before']}{self.running(scheme) + '://' if scheme else ''}{before}{self._whole(bare)}{self.running(found['rest'])}"

    def _numbered(self, text: str) -> str:
        m = _NUMBERED.fullmatch(text)
        return f"{self._whole(m[1])}-{m[2]}" if m else self._whole(text)

    def _partition(self, text: str) -> str:
        m = _NUMBERED.fullmatch(text)
        return f"{self._topic(m[1])}-{m[2]}" if m else self._topic(text)

    def _topic(self, name: str) -> str:
        return name if name in self._vocabulary.topics else self._whole(name)

    def _id(self, text: str) -> str:
        return self.pseudonyms.name(text, ())

    def resource(self, text: str) -> str:
        """Rewrite a task, a connector or a partition; it is unknown which of them it is."""
        m = _NUMBERED.fullmatch(text)
        return self._partition(text) if m else self._whole(text)

    def source(self, text: str) -> str:
        """Rewrite the name that a collector gives to the writer of a line: a pod, a service, a file."""
        return "/".join(
            part if part in _AROUND_SOURCES else self.file_name(part) if _FILE_NAME.search(part) else self.of_kind("source", part)
            for part in text.split("/")
        )

    def file_name(self, name: str) -> str:
        """Rewrite the name of a file or a folder; what distinguishes kinds of logs and rotated files stays."""
        plain = self._vocabulary.files | {w.lower() for w in self._vocabulary.inside}
        kept = {t for t in _WORD.findall(name) if t.lower() in plain}
        kept.update(t for found in _IN_FILE_NAMES.finditer(name) for t in _WORD.findall(found[0]) if not self.pseudonyms.is_replaced(t))
        return self.pseudonyms.name(name, frozenset(kept))

    def leaks(self, text: str) -> bool:
        """Return True if a text still contains a known name, or an address that is not a pseudonym."""
        if self._leak is not None and self._leak.search(text):
            return True
        if "ip-" in text and any(not found.startswith(_OUR_DASHED) for found in _DASHED_HOST.findall(text)):
            return True
        if any(is_foreign_six(found) for found in IPV6.findall(text)):
            return True
        return _PRIVATE.search(text) is not None or any(not found.startswith(_OUR_ADDRESSES) for found in IPV4.findall(text))

    def thread(self, text: str) -> str:
        """Rewrite a thread's name."""
        for pattern, rewrite in ((_TASK_THREAD, self._whole), (_HEARTBEAT, self._group)):
            if m := pattern.fullmatch(text):
                return m[1] + rewrite(m[2]) + (m[3] if pattern is _TASK_THREAD else "")
        return self.running(text)

    def dump(self, text: str) -> str:
        """Rewrite the lines of a thread dump: the names of threads, and their frames as in other stack traces; other lines are withheld."""
        return "\n".join(map(self._dumped, text.split("\n")))

    def _dumped(self, line: str) -> str:
        if (head := HEAD.fullmatch(line.rstrip())) is not None:
            numbers = NUMBERS.match(line, head.end("name") + 1)
            return f'"{self.thread(head["name"])}"{numbers[0] if numbers else ""}'
        if BEGIN.fullmatch(line.rstrip()) or STATE.fullmatch(line.rstrip()):
            return line
        return self.frames([line])[0] if FRAME.fullmatch(line.rstrip()) else " -" if line.strip() else line

    def _numbered_thread(self, text: str) -> str:
        """Rewrite a thread's name, which has a number if it is a further one of this name."""
        number = _FURTHER.search(text)
        return self.thread(text[: number.start()]) + number[0] if number else self.thread(text)

    def context(self, text: str) -> str:
        """Rewrite Connect's logging context, `b|task-1`."""
        name, bar, rest = text.partition("|")
        return self._whole(name) + bar + self.running(rest) if bar else self.running(text)

    def exact(self) -> dict[str, str]:
        """Return every name with its pseudonym, including words of Kafka: for places where a whole text is a name."""
        found: dict[str, str] = {}
        for kind in sorted(self._names.by_kind, key=_rank):
            for name in self._names.by_kind[kind]:
                found.setdefault(name, self.of_kind(kind, name))
        return found

    def frames(self, lines: Iterable[str]) -> list[str]:
        """Rewrite lines of a stack trace; frames of Kafka and Java stay."""
        return [line if _FRAME.fullmatch(line) and (_OWN_FRAME.match(line) or "(" not in line) else self.running(line) for line in lines]

    def items(self, kind: str, text: str) -> str:
        """Rewrite a printed list of names."""
        return _ITEMS.sub(lambda m: self.of_kind(kind, m[0]), text)

    def partitions(self, text: str) -> str:
        """Rewrite partitions as a client prints them: `[t-0]`, `map[t:[0 1]]`, `{TopicPartition(topic='t', partition=0)}`, lines of them."""
        if "TopicPartition(" in text:
            return _PYTHON_TOPIC.sub(lambda m: self.of_kind("topic", m[0]), text)
        return _PARTITION_ITEMS.sub(lambda m: m[0] if m[0] in _AROUND_PARTITIONS else self.of_kind("partition", m[0]), text)

    def setting(self, key: str, value: str) -> str:
        """Return the value of a setting without secrets and names."""
        value = hide(key, value)
        kind = kind_of_setting(key)
        if _NUMBER.fullmatch(value) and (_MEASURE.search(key) or self.setting_key(key) == key):
            return value
        if kind is None or not names_something(value):
            return self.running(value)
        return ",".join(self._setting_item(kind, item) for item in value.split(","))

    def _setting_item(self, kind: str, item: str) -> str:
        bare = item.strip()
        return item.replace(bare, self.of_kind(kind, bare)) if bare else item

    def value(self, kind: str, value: Any) -> Any:  # noqa: ANN401  (a capture's value)
        """Return the value of a capture, of any type, as it must be read from rewritten text."""
        if isinstance(value, str):
            return self.of_kind(kind, value)
        if isinstance(value, list):
            return [self.value(kind, item) for item in value]
        if isinstance(value, Mapping):
            if kind == "configuration":
                return {self.setting_key(k): self.setting(k, v) if isinstance(v, str) else v for k, v in value.items()}
            if kind == "assignment":
                return {self.of_kind("member", k): [self.resource(item) for item in v] for k, v in value.items()}
            if kind == "dump":
                return {
                    self._numbered_thread(k): [v[0], *(line[4:] for line in self.frames(f"\tat {frame}" for frame in v[1:]))]
                    for k, v in value.items()
                }
            return {self.of_kind(kind, k): v for k, v in value.items()}
        return value

    # --- running text

    def running(self, text: str, *, numbers: bool = False) -> str:
        """Rewrite text whose content is unknown: replace known names, long numbers, and every word that is neither Kafka's nor plain English.

        Args:
            text: one or several lines.
            numbers: keep numbers: offsets, times and sizes in a tool's output.
        """
        if numbers:
            return self._tokens.sub(self._token_or_number, text)
        if len(text) > _SHORTEST_NUMBERS and ", " in text and (found := _NUMBERS.search(text)):
            text = text[: found.start()] + _NUMBERS.sub(self._numbers, text[found.start() :])
        if text in self._short:
            return self._short[text]
        if "\n" in text:
            return "\n".join(self.frames(text.split("\n")))
        return self._tokens.sub(self._token, text)

    def _numbers(self, found: re.Match[str]) -> str:
        """Rewrite a list of numbers that may be the bytes of a text."""
        return rewritten_decimals(found[0], self.of_kind) or "0" if hides_text(found[0]) else found[0]

    def key(self, key: str) -> str:
        """Rewrite a JSON key: replace all words that encoders and collectors do not use; keys that patterns use stay."""
        return key if key in self._keys else self._key(key, self._vocabulary.keys)

    def setting_key(self, key: str) -> str:
        """Rewrite the key of a setting: replace all words that settings of Kafka and of common connectors do not use."""
        known = self._setting_keys.get(key)
        if known is None:
            known = self._key(key, self._vocabulary.settings)
            if len(self._setting_keys) < _MAX_REMEMBERED:
                self._setting_keys[key] = known
        return known

    def _key(self, key: str, stay: Collection[str]) -> str:
        def part(found: re.Match[str]) -> str:
            word = found[0]
            humps = [h.lower() for h in _HUMP.findall(word)]
            own = word.lower() in stay or ("".join(humps) == word.lower() and all(h in stay for h in humps))
            return word if own else self._word(word)

        return _WORD.sub(part, key)

    def number_of_key(self, key: str, value: float) -> float:
        """Rewrite a number in JSON; a short number, or one whose key a pattern uses, stays."""
        if key in self._keys or (isinstance(value, int) and abs(value) < 1_000):  # noqa: PLR2004
            return value
        return int(self.pseudonyms.passing(str(abs(value)))) if isinstance(value, int) else 0.0

    def text_of_key(self, key: str, value: str) -> str:
        """Rewrite a text in JSON."""
        value = hide(key, value)
        if key not in self._keys and (value.isdigit() and len(value) > 3 or _FRACTION.fullmatch(value)):  # noqa: PLR2004
            return self.pseudonyms.passing(value) if value.isdigit() else "0.0"
        return self.running(value)

    def _token_or_number(self, found: re.Match[str]) -> str:
        return found[0] if found.lastgroup == "grouped" or found[0].isdigit() else self._token(found)

    def _token(self, found: re.Match[str]) -> str:
        kind, text = found.lastgroup, found[0]
        if kind == "word":
            known = self._words.get(text)
            if known is None:
                if len(self._words) >= _MAX_REMEMBERED:
                    self._words.clear()
                known = self._words[text] = self._word(text)
            return known
        if kind == "known":
            return self._known[text]
        if kind == "short":
            return self._short[text]
        if kind == "host":
            return self._hosts[text]
        if kind == "uuid":
            return self.pseudonyms.uuid(text)
        if kind in ("dashed", "mac"):
            return self.pseudonyms.dashed(text) if kind == "dashed" else self.pseudonyms.mac(text)
        if kind == "grouped":
            return re.sub(r"\d+", lambda m: self.pseudonyms.passing(m[0]), text)
        if kind == "six":
            before, made, behind = self.pseudonyms.around_six(text)
            return f"{self._simple_tokens.sub(self._token, before)}{made}{self._simple_tokens.sub(self._token, behind)}"
        return text if kind in ("cls", "when") else self.pseudonyms.address(text)

    def _word(self, word: str) -> str:
        if word.isdigit():
            known = len(word) < _LONG_NUMBER or word in self._numbers_of_kafka or _CONSTANT.fullmatch(word)
            return word if known else self.pseudonyms.passing(word)
        if word.lower() in self._vocabulary.running or word in self._vocabulary.inside or _SIZE.fullmatch(word):
            return word
        humps = _HUMP.findall(word)
        if len(humps) > 1 and "".join(humps) == word and all(h.lower() in self._vocabulary.running for h in humps):
            return word
        return self.pseudonyms.word_of_text(word)


def _rank(kind: str) -> tuple[bool, str]:
    """Return a sort key of kinds: if a name is of two kinds, a client, which may be a default, comes last."""
    return kind in ("client", "member"), kind


@lru_cache(maxsize=8_192)
def kind_of_setting(key: str) -> str | None:
    """Return the kind of name that the value of a setting is; None if that is unknown."""
    return next((kind for kind, pattern in _KEYS if pattern.search(key)), None)


def names_something(value: str) -> bool:
    """Return True if the value of a setting may be a name."""
    return not value.startswith("[") and value.lower() not in ("", "null", "none", "true", "false") and not value.isdigit()


def one_of(words: Iterable[str]) -> str:
    """Return a regular expression for any of some texts, the longest first: a tree, so that its cost does not grow with their number."""
    tree: dict[str, Any] = {}
    for word in words:
        node = tree
        for char in word:
            node = node.setdefault(char, {})
        node[""] = {}
    return _pattern(tree)


def _pattern(tree: Mapping[str, Any]) -> str:
    chain = ""
    while len(tree) == 1 and "" not in tree:  # a run without branches is flat, so that long names do not nest deeply
        char, tree = next(iter(tree.items()))
        chain += re.escape(char)
    branches = [re.escape(char) + _pattern(rest) for char, rest in sorted(tree.items()) if char]
    if not branches:
        return chain
    return f"{chain}(?:{'|'.join(branches)}){'?' if '' in tree else ''}"
