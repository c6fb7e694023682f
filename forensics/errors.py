"""One tree of errors. Each says what went wrong, why, where, and what to do; none reaches a user as a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


class _Shell:
    """Who reads errors: a user of the commands, or a program, which knows arguments in the place of options."""

    reads = False


SHELL = _Shell()
_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")
_ARGUMENTS = {"group": "groups", "rule": "rules", "assume-skew": "assume_skew_ms", "no-views": "views=False"}
#: The option of `sql` that takes a statement.
_STATEMENT = re.compile(r"^-e(?=$|,)")
_CALLS = {"forensics ingest PATH... --case DIR": "forensics.ingest(PATHS, DIR)"}


def _in_python(text: str) -> str:
    """What stands for a command or an option of the shell: `--since` is the argument `since`."""
    for command, call in _CALLS.items():
        text = text.replace(command, call)
    text = _STATEMENT.sub("statement", text)
    return _OPTION.sub(lambda m: _ARGUMENTS.get(m[1], m[1].replace("-", "_")), text)


class ForensicsError(Exception):
    """Base of all errors that a user may see.

    Args:
        what: what went wrong, one sentence.
        why: the reason, when known.
        where: `file`, `file:line` or an argument's name.
        fix: what the reader can do about it.
    """

    exit_code = 4

    def __init__(self, what: str, *, why: str = "", where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what, self.why, self.where, self.fix = what, why, where, fix

    def __str__(self) -> str:
        where, fix = (self.where, self.fix) if SHELL.reads else (_in_python(self.where), _in_python(self.fix))
        lines = [self.what]
        if self.why:
            lines.append(f"  reason: {self.why}")
        if where:
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
    """What to write in the place of a name that nothing has: the nearest names, or a hint where none is near."""
    by_lower = {k.lower(): k for k in known}
    near = get_close_matches(name.lower(), by_lower, n=3, cutoff=0.7) or [k for k in by_lower if len(name) > 2 and k.startswith(name.lower())][:3]
    return f"Did you mean {' or '.join(f'`{by_lower[n]}`' for n in near)}?" if near else otherwise


def reason_of(error: BaseException) -> str:
    """Why something failed, for the note beside a file: one line, never empty. What nobody expected is named by its kind."""
    text = " ".join(str((isinstance(error, OSError) and error.strerror) or error).split())[:200]
    return text if text and isinstance(error, _TOLD) else f"{type(error).__name__}: {text}" if text else type(error).__name__


_TOLD = (ForensicsError, OSError, EOFError, ValueError)


class UsageError(ForensicsError):
    """A wrong argument or option."""

    exit_code = 2


class CatalogueError(ForensicsError):
    """A pattern or layout file that does not check."""

    exit_code = 2


class EvidenceError(ForensicsError):
    """Evidence that cannot be read; the rest of it still is."""

    exit_code = 3


class CaseError(ForensicsError):
    """A case folder that is missing, unfinished or of another format."""

    exit_code = 4
