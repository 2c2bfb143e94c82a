"""The command `loa`, which `python -m loa` runs as well."""

from .storage.interruption import end_on_signals


def main() -> None:
    """Run a command; from the first moment on, a signal ends it with a sentence."""
    end_on_signals("interrupted.")
    from .cli import app

    app()


if __name__ == "__main__":
    main()
