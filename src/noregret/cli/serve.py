"""``noregret serve``: the page and its API."""

from __future__ import annotations

from contextlib import suppress

import click

from noregret.cli.options import Target, on_storage
from noregret.errors import MissingExtraError


@click.command(
    short_help="The studies as a page", epilog="Example: noregret serve --storage tuning.db --write"
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Any other than this machine's own needs a token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="0: any free one.",
)
@click.option(
    "--write",
    is_flag=True,
    help="Allow creating studies, asking and telling; without it the page only reads.",
)
@click.option(
    "--token",
    envvar="NOREGRET_TOKEN",
    help="What visitors log in with and programs send; better given as NOREGRET_TOKEN.",
)
@on_storage
def serve(target: Target, host: str, port: int, write: bool, token: str | None) -> None:
    """Serve the studies of a storage as a page: what the optimizer believes, and experiments run by
    hand.

    It never runs an objective. A new database is made with --write only. Stop it with Ctrl-C.
    """
    try:
        import uvicorn

        from noregret.web.app import create_app
        from noregret.web.pages import plotly_file
        from noregret.web.security import Access
    except ImportError as error:
        raise MissingExtraError(
            f"the page needs {error.name}: install it with `pip install noregret[web]`"
        ) from None
    from noregret.storage import SQLStorage

    plotly_file()
    access = Access(write, token or None, host)
    app = create_app(SQLStorage(target.storage if write else target.existing()), access)
    server = uvicorn.Server(
        uvicorn.Config(
            app, host=host, port=port, log_level="warning", server_header=False, date_header=False
        )
    )
    config = server.config
    config.load()
    socket = config.bind_socket()
    socket.listen()  # whoever reads the address below may come at once
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{socket.getsockname()[1]}/"
    target.emit(
        {"url": url, "write": write},
        f"{url}  ({'reads and writes' if write else 'reads only'}; Ctrl-C ends it)",
    )
    with suppress(KeyboardInterrupt):  # it has closed everything by then
        server.run(sockets=[socket])
