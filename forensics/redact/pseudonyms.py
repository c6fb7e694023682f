"""Map a name to its pseudonym. Pseudonyms are built word by word, so names that share words still share them: the group `connect-orders` of the
connector `orders`, the client `connector-consumer-orders-0` of its task, a topic and its dead letter topic.

A keyed hash replaces each word: without the key it cannot be reversed, nor can names be tried. For a group, the pseudonym also keeps the partition of
`__consumer_offsets` to which Kafka maps the group's name.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from forensics.redact.vocabulary import Vocabulary
from forensics.redaction import is_secret_key

_CONSONANTS, _VOWELS = "bdfgjklmnprtvz", "aeiou"
_SYLLABLES = 5
#: Target ranges for addresses, reserved for testing and documentation: 198.18.0.0/15 (RFC 2544) and 2001:db8::/32 (RFC 3849).
_FOUR, _FOUR_BITS = int(ipaddress.IPv4Address("198.18.0.0")), 17
_SIX = int(ipaddress.IPv6Address("2001:db8::"))
#: Maximum number of hashes that are tried to keep a group in its partition.
_MAX_TRIES = 200_000
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
UUID = re.compile(_UUID)
#: Four numbers directly after a library's name, before its file extension: `snappy-java-1.1.10.5.jar`.
_VERSION = r"(?<=\w-)(?!10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)\d[\d.]*(?:[.-][A-Za-z]\w*)*\.(?:jar|war)\b"
IPV4 = re.compile(rf"(?<![^\W_])(?<!\.)(?!0\.)(?!{_VERSION})\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?![^\W_]|\.\d)")
_GROUP, _QUAD = r"[0-9a-fA-F]{1,4}", r"\d{1,3}(?:\.\d{1,3}){3}"
#: Text that may contain an IPv6 address: groups of hexadecimal digits with `::` among them, or eight groups; a port or other groups may adjoin it.
IPV6 = re.compile(
    rf"(?<![^\W_])(?=[0-9a-fA-F:]{{0,40}}::|(?:{_GROUP}:){{6}}[0-9a-fA-F])(?:(?:{_GROUP})?:){{2,10}}(?:{_QUAD}(?!\.\d)|{_GROUP})?(?![^\W_])"
)
MAC = re.compile(r"(?<![\w:-])[0-9a-fA-F]{2}(?P<joint>[:-])(?:[0-9a-fA-F]{2}(?P=joint)){4}[0-9a-fA-F]{2}(?![\w:-])")


def _dashed(sign: str) -> str:
    octet = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
    four = rf"(?!0{sign}){sign.join([octet] * 4)}(?![^\W_])"
    private = rf"(?=10{sign}|192{sign}168{sign}|172{sign}(?:1[6-9]|2\d|3[01]){sign})"
    return rf"(?i:ip|ec2){sign}{four}|(?<!\d{sign})(?:{private}{four}|{four}(?!{sign}\d))"


#: An address as names of machines and pods contain it: `ip-10-1-2-3`, `10-1-2-3.billing.pod.cluster.local`, `worker_10_1_2_3`.
DASHED = re.compile(rf"(?<![^\W_])(?:{_dashed('-')}|{_dashed('_')})")
_SIMPLE_PARTS = re.compile(
    rf"(?P<uuid>(?<![0-9A-Za-z]){_UUID}(?![0-9A-Za-z]))|(?P<four>{IPV4.pattern})|(?P<dashed>{DASHED.pattern})|(?P<word>[^\W_]+)"
)
_PARTS = re.compile(f"(?P<six>{IPV6.pattern})|{_SIMPLE_PARTS.pattern}")
#: Number of colons of an address without `::`, and of one that ends in an IPv4 address.
_COLONS, _POINTED_COLONS = 7, 6
#: Networks whose addresses end in an IPv4 address that may be printed in dotted form: mapped, compatible, and translated (RFC 6052).
_HOLDS_FOUR = (0xFFFF, 0, 0x64FF9B << 64)
_NUMBERED = re.compile(r"([^\W\d_]+)(\d{1,4})")
_HEX = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}")
_YEAR = re.compile(r"(?:19|20)\d\d")
#: Numbers with at most this many digits distinguish siblings and stay in names; a longer one may be a ticket, an account or a date.
_SHORT = 3
#: Number of characters before a number that are searched for the word that it belongs to.
_FAR = 200
#: Number of pseudonyms that are tried for a number before a longer one is used.
_PER_LENGTH = 1_000
_OFTEN = 5


def partition_of(group: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets` to which Kafka maps a group."""
    from forensics.offsets_topic.replica_placement import group_partition

    return group_partition(group, partitions)


@dataclass
class Pseudonyms:
    """Words and addresses with their pseudonyms.

    Attributes:
        key: key of the hash; anyone who has it can try names.
        vocabulary: words that stay.
        words: pseudonym by word, chosen when it is first needed.
        addresses: pseudonym by address.
        uuids: pseudonym by UUID, of UUIDs in names.
        kinds: names that were replaced, by kind; for the mapping.
    """

    vocabulary: Vocabulary
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    words: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    uuids: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, dict[str, str]] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._taken.update(self.words.values(), self.addresses.values())

    @classmethod
    def of_mapping(cls, vocabulary: Vocabulary, mapping: Mapping[str, Any]) -> Pseudonyms:
        """Return the pseudonyms of a mapping, to which more can be added."""
        return cls(
            vocabulary,
            bytes.fromhex(mapping["key"]),
            dict(mapping["words"]),
            dict(mapping["addresses"]),
            dict(mapping["uuids"]),
            {k: dict(v) for k, v in mapping["names"].items()},
        )

    def _hash(self, *parts: object) -> int:
        return int.from_bytes(hmac.digest(self.key, "\0".join(map(str, parts)).encode("utf-8", "surrogatepass"), hashlib.sha256)[:16], "big")

    def _candidate(self, word: str, attempt: int) -> str:
        number, made = self._hash("word", word, attempt), ""
        if _HEX.fullmatch(word):  # an ID: code that recognises its form still does
            return f"{number:032x}"[: len(word)].rjust(len(word), "0")
        if word.isdigit():
            least = 10 ** (len(word) - 1 + attempt // _PER_LENGTH)
            return str(least + number % (9 * least))
        for _ in range(_SYLLABLES):
            number, consonant = divmod(number, len(_CONSONANTS))
            number, vowel = divmod(number, len(_VOWELS))
            made += _CONSONANTS[consonant] + _VOWELS[vowel]
        return made

    def _may_be_given(self, made: str) -> bool:
        """Return True if a word may be a pseudonym: it is not in use, and does not mark the text after it as a secret (as `tokenelifi` would)."""
        return made not in self._taken and made not in self.vocabulary.running and not is_secret_key(made)

    def word(self, word: str) -> str:
        """Return the pseudonym of a word; a short number at its end stays."""
        numbered = _NUMBERED.fullmatch(word)
        if numbered:
            return self._made(numbered[1]) + (numbered[2] if len(numbered[2]) <= _SHORT else self._made(numbered[2]))
        return self._made(word)

    def word_of_text(self, word: str) -> str:
        """Return the pseudonym of a word of running text, without keeping it; a word of a name has the same pseudonym."""
        numbered = _NUMBERED.fullmatch(word)
        if numbered:
            return self.passing(numbered[1]) + (numbered[2] if len(numbered[2]) <= _SHORT else self.passing(numbered[2]))
        return self.passing(word)

    def _made(self, word: str) -> str:
        known = self.words.get(word)
        if known is None:
            known = self.passing(word)
            self._take(word, known)
        return known

    def passing(self, word: str) -> str:
        """Return the pseudonym of a word that is not part of a name. It is not kept, because there may be millions of such words."""
        known = self.words.get(word)
        attempt = 0
        while known is None:
            made = self._candidate(word, attempt)
            known = made if self._may_be_given(made) else None
            attempt += 1
        return known

    def _take(self, word: str, pseudonym: str) -> None:
        self.words[word] = pseudonym
        self._taken.add(pseudonym)

    def address(self, text: str) -> str:
        """Return the pseudonym of an address, the same for all its spellings. A loopback address, or text that is no address, stays."""
        try:
            text = str(ipaddress.ip_address(_without_zeros(text)))
        except ValueError:
            return text
        known = self.addresses.get(text)
        if known is None:
            known = self._new_address(text)
            if known != text:
                self.addresses[text] = known
                self._taken.add(known)
        return known

    def _new_address(self, text: str) -> str:
        parsed = ipaddress.ip_address(text)
        if parsed.is_loopback or parsed.is_unspecified:
            return text
        made, attempt = "", 0
        while not made or made in self._taken:
            number = self._hash("address", parsed, attempt)
            if parsed.version == 4:  # noqa: PLR2004
                made = str(ipaddress.IPv4Address(_FOUR + number % (1 << _FOUR_BITS)))
            else:
                made = str(ipaddress.IPv6Address(_SIX + number % (1 << 96)))
            attempt += 1
        return made

    def around_six(self, text: str) -> tuple[str, str, str]:
        """Split a match of `IPV6` into the text before the address, its pseudonym, and the text after it; without an address, all is before.

        An address without brackets may be followed by a port. A number that may be its last group or a port belongs to the address.
        """
        found = _six(text)
        if found is None:
            return text, "", ""
        begin, end, parsed = found
        made = text[begin:end]
        if _holds_four(made, parsed):
            head, _, four = made.rpartition(":")
            made = f"{head}:{self.address(four)}"
        elif not (parsed.is_loopback or parsed.is_unspecified):
            made = self.address(str(parsed))
        return text[:begin], made, text[end:]

    def dashed(self, text: str) -> str:
        """Return the pseudonym of a dashed address in a name: the pseudonym of the dotted address, with dashes."""
        before, sign, address = _undashed(text)
        return before + self.address(address).replace(".", sign)

    def mac(self, text: str) -> str:
        """Return the pseudonym of a MAC address, which may contain the address of a pod."""
        digits = f"{self._hash('mac', text.lower()):032x}"
        return text[2].join(digits[i : i + 2] for i in range(0, 12, 2))

    def uuid(self, text: str) -> str:
        """Return the pseudonym of a UUID."""
        known = self.uuids.get(text)
        if known is None:
            made = f"{self._hash('uuid', text.lower()):032x}"
            known = f"{made[:8]}-{made[8:12]}-{made[12:16]}-{made[16:20]}-{made[20:]}"
        return known

    def keep_order(self, texts: Iterable[str]) -> None:
        """Choose pseudonyms for addresses and UUIDs in names that sort like the originals: of equal members, the first by ID is reported."""
        whole = "\n".join(texts)
        whole += "".join(f"\n{_undashed(found)[2]}" for found in DASHED.findall(whole))
        for pattern, known, make in ((UUID, self.uuids, self.uuid), (IPV4, self.addresses, self.address)):
            new = sorted({found for found in pattern.findall(whole) if found not in known and make(found) != found})
            known.update(zip(new, sorted(make(text) for text in new), strict=True))

    def name(self, text: str, kept: Collection[str] | None = None) -> str:
        """Return the pseudonym of a name, word by word.

        Args:
            text: the name.
            kept: words that stay; by default, those that stay inside names.
        """
        stay = self.vocabulary.inside if kept is None else kept

        def part(found: re.Match[str]) -> str:
            kind, value = found.lastgroup, found[0]
            if kind == "uuid":
                return self.uuid(value)
            if kind == "four":
                return self.address(value)
            if kind == "six":
                before, made, behind = self.around_six(value)
                return f"{_SIMPLE_PARTS.sub(part, before)}{made}{_SIMPLE_PARTS.sub(part, behind)}"
            if kind == "dashed":
                return self.dashed(value)
            if value in stay or (value.isdigit() and _is_short(found.string, found.start(), value, stay)):
                return value
            return self.word(value)

        return _PARTS.sub(part, text)

    def is_replaced(self, number: str) -> bool:
        """Return True if a number is part of a name that has a pseudonym."""
        return number in self.words

    def keep_partitions(self, groups: Iterable[str], name_of: Callable[[str], str], counts: Collection[int]) -> dict[str, bool]:
        """Choose words so that the pseudonyms of groups belong to the same partitions of `__consumer_offsets` as the groups.

        Args:
            groups: their IDs.
            name_of: returns the pseudonym of a group.
            counts: possible numbers of partitions of the topic.

        Returns:
            True for each group for which this succeeded. It fails if too many groups depend on one word, or if words were chosen before.
        """
        groups = sorted(set(groups))
        made_of = {group: self._free_words(group, name_of) for group in groups}
        often = Counter(word for mine in made_of.values() for word in mine)
        order = sorted(often, key=lambda w: (-often[w], w))
        waiting: dict[str, list[str]] = {}
        for group, mine in made_of.items():
            if mine:
                waiting.setdefault(max(mine, key=order.index), []).append(group)
        for word in order:
            self._choose(word, waiting.get(word, ()), name_of, counts)
        return {group: all(partition_of(name_of(group), n) == partition_of(group, n) for n in counts) for group in groups}

    def _free_words(self, group: str, name_of: Callable[[str], str]) -> list[str]:
        """Return the words that determine a group's pseudonym and have no pseudonym yet."""
        before = dict(self.words), set(self._taken)
        name_of(group)
        free = [word for word in self.words if word not in before[0]]
        self.words, self._taken = before
        return free

    def _choose(self, word: str, groups: Iterable[str], name_of: Callable[[str], str], counts: Collection[int]) -> None:
        wanted = {group: [partition_of(group, n) for n in counts] for group in groups}
        best, best_count = None, -1
        for attempt in range(_MAX_TRIES if len(wanted) * len(counts) <= _OFTEN else 1):
            made = self._candidate(word, attempt)
            if not self._may_be_given(made):
                continue
            self.words[word] = made
            kept = sum([partition_of(name_of(group), n) for n in counts] == those for group, those in wanted.items())
            if kept > best_count:
                best, best_count = made, kept
            if kept == len(wanted):
                break
        if best is not None:
            self._take(word, best)


@lru_cache(maxsize=8_192)
def _six(text: str) -> tuple[int, int, ipaddress.IPv6Address] | None:
    """Return the longest address in a match of `IPV6` as its beginning, its end and the address; None if there is none."""
    borders = [0, *(i for at, char in enumerate(text) if char == ":" for i in (at, at + 1)), len(text)]
    for _, begin, end in sorted((begin - end, begin, end) for begin in borders for end in borders if end - begin > 1):
        part = text[begin:end]
        if not _may_be_six(part):
            continue
        head, colon, last = part.rpartition(":")
        with suppress(ValueError):
            return begin, end, ipaddress.IPv6Address(f"{head}{colon}{_without_zeros(last)}" if "." in last else part)
    return None


def _may_be_six(text: str) -> bool:
    """Return False if the colons of a text are not those of an IPv6 address: this excludes most parts of a text."""
    gaps = text.count("::")
    if gaps != 1:
        return gaps == 0 and text.count(":") == (_POINTED_COLONS if "." in text else _COLONS)
    return ":::" not in text and (text[0] != ":" or text[1] == ":") and (text[-1] != ":" or text[-2] == ":")


def _holds_four(text: str, parsed: ipaddress.IPv6Address) -> bool:
    """Return True if an address is printed with an IPv4 address in it, which other addresses may contain too."""
    return "." in text and int(parsed) >> 32 in _HOLDS_FOUR


def is_foreign_six(text: str) -> bool:
    """Return True if a match of `IPV6` contains an address that is neither a pseudonym nor a loopback address."""
    found = _six(text)
    if found is None:
        return False
    begin, end, parsed = found
    ours = parsed.is_loopback or parsed.is_unspecified or int(parsed) >> 96 == _SIX >> 96
    return not ours and not _holds_four(text[begin:end], parsed)


def _without_zeros(text: str) -> str:
    """Return an IPv4 address as `ipaddress` accepts it: some programs pad its numbers with zeros."""
    return ".".join(part.lstrip("0") or "0" for part in text.split(".")) if "." in text else text


def _is_short(text: str, at: int, number: str, stay: Collection[str]) -> bool:
    """Return True if a number in a name stays: it has few digits, or is a port, a year or the ID of a broker."""
    before = text[max(0, at - _FAR) : at]
    if len(number) <= _SHORT or before.endswith(":"):
        return True
    words = re.findall(r"[^\W_]+", before)
    return len(number) == 4 and (_YEAR.fullmatch(number) is not None or bool(words and words[-1] in stay))  # noqa: PLR2004


def _undashed(text: str) -> tuple[str, str, str]:
    """Return the text before a dashed address, its separator, and the dotted address."""
    sign = "_" if "_" in text else "-"
    *before, a, b, c, d = text.split(sign)
    return "".join(word + sign for word in before), sign, f"{a}.{b}.{c}.{d}"
