"""The user's options for files: time zones, layouts and hosts, by glob."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from forensics.errors import UsageError
from forensics.evidence.objects import S3Path
from forensics.records.layouts import packaged
from forensics.records.timestamps import Zone

ByGlob = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SourceOptions:
    """The user's options by glob, which matches the path below the ingested folder or the whole path of a file, or of a folder that it is in.

    Later entries win.

    Attributes:
        time_zones: glob and zone.
        layouts: glob and PatternLayout string.
        hosts: glob and name.
    """

    time_zones: ByGlob = ()
    layouts: ByGlob = ()
    hosts: ByGlob = ()

    @classmethod
    def parse(cls, time_zones: Iterable[str] = (), layouts: Iterable[str] = (), hosts: Iterable[str] = ()) -> SourceOptions:
        """Parse `[GLOB=]ZONE`, `[GLOB=]PATTERN` and `GLOB=NAME` from a command line.

        Raises:
            UsageError: a time zone or pattern is invalid, or a host has no glob.
        """
        options = cls(
            tuple(_split(t) for t in time_zones),
            tuple(_split(t, before="%") for t in layouts),
            tuple(_split(t) for t in hosts),
        )
        for glob, name in options.hosts:
            if glob == "*":
                raise UsageError("--host needs a glob for the files of the host.", where=name, fix="Write --host GLOB=NAME.")
        for _, zone in options.time_zones:
            Zone(zone)
        for _, pattern in options.layouts:
            packaged().with_pattern(pattern)
        return options

    def time_zone(self, path: str, location: str) -> str | None:
        """Return the time zone of a file; None if no option matches."""
        return _last(self.time_zones, path, location)

    def unmatched_zones(self, files: Iterable[tuple[str, str]]) -> list[str]:
        """Return the globs of time zones that match no file, each given by its path and location."""
        known = list(files)
        return [glob for glob, _ in self.time_zones if glob != "*" and not any(_last(((glob, ""),), *names) is not None for names in known)]

    def layout(self, path: str, location: str) -> str | None:
        """Return the PatternLayout string of a file; None if no option matches."""
        return _last(self.layouts, path, location)

    def host(self, path: str, location: str) -> str | None:
        """Return the host of a file; None if no option matches."""
        return _last(self.hosts, path, location)


def _last(entries: ByGlob, path: str, location: str) -> str | None:
    """Return the value of the last matching entry."""
    # A process is often named by its folder, and reports print that name as a glob.
    return next((value for glob, value in reversed(entries) for g in (glob, f"{glob}/*") if fnmatchcase(path, g) or fnmatchcase(location, g)), None)


def _split(text: str, before: str = "") -> tuple[str, str]:
    """Split `GLOB=VALUE`, or `VALUE` for all files. An equals sign after one of the characters in `before` is part of the value."""
    glob, equals, value = text.partition("=")
    if not equals or any(c in glob for c in before):
        return "*", text
    return str(S3Path.parse(glob) or glob), value
