"""The hierarchy of errors. Each says what went wrong, why, where, and what to do; users see no tracebacks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


class _Shell:
    """The reader of errors: a user of the commands, or a program, for which errors name arguments instead of options."""

    reads = False


SHELL = _Shell()
#: Options of the commands that are arguments of the library, by their names there. Options of other tools stay as they are.
_ARGUMENTS = {
    **dict.fromkeys(("since", "until", "tz", "case", "engine", "master", "jobs", "context", "merge", "full", "width")),
    **{
        "group": "groups",
        "rule": "rules",
        "resource": "resources",
        "assume-skew": "assume_skew_ms",
        "no-views": "views=False",
        "unrestricted": "unrestricted=True",
    },
    **dict.fromkeys(("layout", "host", "parsers")),
    **{"keep-all": "keep_all", "time-zone": "time_zone", "format": "form", "all-lines": "all_lines"},
}
_OPTION = re.compile(rf"(?<![\w-])--({'|'.join(_ARGUMENTS)})(?![\w-])")
#: Arguments of the commands that have no option, where an error is.
_POSITIONAL = {"ID": "wanted", "NAME": "name"}
#: The option of `sql` for a statement.
_STATEMENT = re.compile(r"^-e(?=$|,)")
_CALLS = {"forensics ingest PATH... --case DIR": "forensics.ingest(PATHS, DIR)"}


def _in_python(text: str) -> str:
    """Replace commands and options by calls and arguments: `--since` by `since`."""
    for command, call in _CALLS.items():
        text = text.replace(command, call)
    text = _STATEMENT.sub("statement", text)
    return _OPTION.sub(lambda m: _ARGUMENTS[m[1]] or m[1], text)


class ForensicsError(Exception):
    """Base class of all errors that users see.

    Args:
        what: the problem, in one sentence.
        why: the reason, if known.
        where: `file`, `file:line` or an argument's name.
        fix: what the user can do about it.
    """

    exit_code = 4

    def __init__(self, what: str, *, why: str = "", where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what, self.why, self.where, self.fix = what, why, where, fix

    def __str__(self) -> str:
        what, why, where, fix = self.what, self.why, self.where, self.fix
        if not SHELL.reads:
            what, why, where, fix = _in_python(what), _in_python(why), _POSITIONAL.get(where, _in_python(where)), _in_python(fix)
        lines = [what]
        if why:
            lines.append(f"  reason: {why}")
        if where and f"`{where}`" not in what:  # which may name the place already
            lines.append(f"  --> {where}")
        if fix:
            lines.append(f"  help: {fix}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        # Spark pickles what a worker raises; the default form loses keyword-only arguments.
        return _rebuild, (type(self), self.what, self.why, self.where, self.fix)


def _rebuild(kind: type[ForensicsError], what: str, why: str, where: str, fix: str) -> ForensicsError:
    return kind(what, why=why, where=where, fix=fix)


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Suggest the closest matches of an unknown name, or return `otherwise` if there are none."""
    by_lower = {k.lower(): k for k in known}
    near = get_close_matches(name.lower(), by_lower, n=3, cutoff=0.7) or [k for k in by_lower if len(name) > 2 and k.startswith(name.lower())][:3]
    return f"Did you mean {' or '.join(f'`{by_lower[n]}`' for n in near)}?" if near else otherwise


def reason_of(error: BaseException) -> str:
    """Return the reason of an error in one line, never empty, for the note of a file. Evidence is not blamed for an error of this program."""
    text = _one_line(error)
    return text if text and (isinstance(error, _EXPECTED) or type(error).__module__ in _PACKING) else own_fault(error)


def own_fault(error: BaseException) -> str:
    """Return the reason of an error that this program makes, whatever it reads, in one line for the note of a file."""
    text = _one_line(error)
    return f"a fault of this program, not of the evidence ({type(error).__name__}{f': {text}' if text else ''})"


def _one_line(error: BaseException) -> str:
    return " ".join(str((isinstance(error, OSError) and error.strerror) or error).split())[:200]


_EXPECTED = (ForensicsError, OSError, EOFError, ValueError)
#: Modules whose errors mean that a packed file is broken.
_PACKING = frozenset({"zlib", "_lzma", "tarfile", "zipfile"})


class UsageError(ForensicsError):
    """An invalid argument or option."""

    exit_code = 2


class CatalogueError(ForensicsError):
    """An invalid pattern or layout file."""

    exit_code = 2


class EvidenceError(ForensicsError):
    """Evidence that cannot be read; other evidence still is."""

    exit_code = 3


class CaseError(ForensicsError):
    """A case folder that is missing, incomplete or in another format."""

    exit_code = 4
