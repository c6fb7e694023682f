"""`python -m forensics`, and the command `forensics`."""

import os
import signal

from forensics import interrupts
from forensics.import_guard import forget_working_folder


def _end(*_: object) -> None:
    """End while modules are imported: nothing is open yet, and an exception would be a traceback."""
    if not interrupts.is_meant():
        return
    os.write(2, b"Interrupted: nothing was read or written.\n")
    os._exit(130)


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_IGN):
        signal.signal(signal.SIGINT, _end)  # until the command listens
    forget_working_folder()  # before anything else is imported
    from forensics.cli import main as run
    from forensics.extract.reading_processes import collect_seldom
    from forensics.pandas_import import hide

    collect_seldom()
    hide()
    run()


if __name__ == "__main__":
    main()
