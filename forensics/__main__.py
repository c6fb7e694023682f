"""`python -m forensics`, and the command `forensics`."""

from forensics.import_guard import forget_working_folder


def main() -> None:
    """Run the command line."""
    forget_working_folder()  # before anything else is imported
    from forensics.cli import main as run
    from forensics.extract.memory import collect_seldom
    from forensics.pandas_import import hide

    collect_seldom()
    hide()
    run()


if __name__ == "__main__":
    main()
