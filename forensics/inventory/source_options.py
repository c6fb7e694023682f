"""What the user says about sources: zones, layouts and hosts, by glob."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from forensics.errors import UsageError
from forensics.evidence.objects import S3Path
from forensics.records.layouts import packaged
from forensics.records.timestamps import Zone

Said = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SourceOptions:
    """What the user said, by glob (of the path below the ingested folder, or of the whole path); later entries win.

    Attributes:
        time_zones: glob and zone.
        layouts: glob and PatternLayout string.
        hosts: glob and name.
    """

    time_zones: Said = ()
    layouts: Said = ()
    hosts: Said = ()

    @classmethod
    def parse(cls, time_zones: Iterable[str] = (), layouts: Iterable[str] = (), hosts: Iterable[str] = ()) -> SourceOptions:
        """Reads `[GLOB=]ZONE`, `[GLOB=]PATTERN` and `GLOB=NAME` as they stand on a command line.

        Raises:
            UsageError: a zone, pattern or form is wrong.
        """
        options = cls(
            tuple(_split(t) for t in time_zones),
            tuple(_split(t, before="%") for t in layouts),
            tuple(_split(t) for t in hosts),
        )
        for glob, name in options.hosts:
            if glob == "*":
                raise UsageError("A host needs the files that it is of.", where=name, fix="Write --host GLOB=NAME.")
        for _, zone in options.time_zones:
            Zone(zone)
        for _, pattern in options.layouts:
            packaged().with_pattern(pattern)
        return options

    def time_zone(self, path: str, location: str) -> str | None:
        """The zone of a file, None where nothing was said."""
        return _last(self.time_zones, path, location)

    def layout(self, path: str, location: str) -> str | None:
        """The PatternLayout string of a file, None where nothing was said."""
        return _last(self.layouts, path, location)

    def host(self, path: str, location: str) -> str | None:
        """The host of a file, None where nothing was said."""
        return _last(self.hosts, path, location)


def _last(entries: Said, path: str, location: str) -> str | None:
    """What the last fitting entry says."""
    return next((value for glob, value in reversed(entries) if fnmatchcase(path, glob) or fnmatchcase(location, glob)), None)


def _split(text: str, before: str = "") -> tuple[str, str]:
    """`GLOB=VALUE` or `VALUE` (for all files). What comes after one of `before` is no glob."""
    glob, equals, value = text.partition("=")
    if not equals or any(c in glob for c in before):
        return "*", text
    return str(S3Path.parse(glob) or glob), value
