"""``noregret`` and ``python -m noregret``."""

import sys


def main() -> None:
    try:
        import click  # noqa: F401
    except ImportError:
        sys.exit("the command line needs click: pip install 'noregret[cli]'")
    from noregret.cli import run

    run()


if __name__ == "__main__":
    main()
