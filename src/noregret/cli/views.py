"""A study to look at: ``noregret plot`` draws it into a file, ``noregret serve`` shows it as a
page.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noregret.cli.options import Target, complete_study, on_storage, on_study, parse_point
from noregret.errors import ConfigurationError, MissingExtraError
from noregret.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = (
    "convergence",
    "slice",
    "slices",
    "contour",
    "importance",
    "parallel",
    "timeline",
    "studies",
    "lengthscales",
    "certificate",
    "calibration",
    "policy",
    "outcomes",
)
SLICED = ("slice", "slices", "contour", "policy", "outcomes")
ENDINGS = ("png", "svg", "pdf")


@click.command(
    short_help="Draw a study into a file",
    epilog="Example: noregret plot slice --along temperature --at solvent=water --out slice.png",
)
@click.argument("kind", type=click.Choice(KINDS), default="convergence")
@click.option(
    "--along",
    multiple=True,
    metavar="NAME",
    help="The parameter of a slice; twice for a map over two.  [default: the first, or two]",
)
@click.option(
    "--at",
    multiple=True,
    metavar="NAME=VALUE",
    help="Where a slice holds another parameter.  [default: the recommended point]",
)
@click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Failure probability of the certificate.",
)
@click.option(
    "--also",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_study,
    help="Another study beside it, for `plot studies`.  [default: all of the same goal]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.png|svg|pdf",
    help="Where the picture goes.  [default: STUDY-KIND.png]",
)
@on_study
def plot(
    target: Target,
    kind: str,
    along: tuple[str, ...],
    at: tuple[str, ...],
    delta: float | None,
    also: tuple[str, ...],
    out: Path | None,
) -> None:
    """Draw a study: values and the best so far (convergence), the model's mean and band along a
    parameter (slice) or along each (slices), its mean over two (contour), which inputs matter
    (importance), all trials at once (parallel), when they ran (timeline), several studies' best so
    far (studies), lengthscales and the widening h (lengthscales), the bound on the regret
    (certificate), whether predictions came true (calibration), the best action as a function of the
    context (policy), an outcome beside its limit (outcomes).
    """
    if ((along or at) and kind not in SLICED) or (along and kind == "slices"):
        raise ConfigurationError(
            f"--along is for `noregret plot slice`, contour, policy and outcomes, --at for these"
            f" and slices, not for {kind}"
        )
    if also and kind != "studies":
        raise ConfigurationError(f"--also is for `noregret plot studies`, not for {kind}")
    if delta is not None and kind != "certificate":
        raise ConfigurationError(f"--delta is for `noregret plot certificate`, not for {kind}")
    if out is not None and out.suffix[1:].lower() not in ENDINGS:
        raise ConfigurationError(
            f"{out} does not say which kind of picture is wanted: let it end in .png, .svg or .pdf"
        )
    if kind == "studies" and target.study is None and not also:
        storage = target.connect()
        study = Study.open(min(storage.names(), default=""), storage=storage)
    else:
        study = target.open()
    path = out or Path(f"{_file_name(study.name)}-{kind}.png")
    figure = draw(study, kind, list(along) or None, parse_point(study, at), delta, also)
    figure.savefig(path, dpi=150)
    target.emit(
        {"study": study.name, "kind": kind, "file": str(path)}, f"{kind} of {study.name} in {path}"
    )


def draw(
    study: Study,
    kind: str,
    along: list[str] | None,
    at: dict[str, Any],
    delta: float | None,
    also: Sequence[str] = (),
) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib: install it with `pip install noregret[plot]`"
        ) from None
    from noregret import plot as pictures

    inputs = sum(each.width > 0 for each in study.space.parameters.values())
    size = {
        "lengthscales": (7.2, 6.4),
        "slices": (4.6 * min(inputs, 3), 3.4 * -(-inputs // 3) + 0.6),
        "parallel": (max(7.2, 1.3 * inputs + 3), 4.2),
        "importance": (7.2, max(2.4, 0.4 * inputs + 1.4)),
        "timeline": (7.2, min(max(3.0, 0.16 * len(study.trials) + 1.2), 14)),
    }
    figure = Figure(figsize=size.get(kind, (7.2, 4.2)), layout="constrained")
    if kind == "lengthscales":
        above, below = figure.subplots(2, 1, sharex=True)
        pictures.lengthscales(study, ax=above).set_xlabel("")
        pictures.scaling(study, ax=below).set_title("")
    elif kind == "slices":
        pictures.slices(study, at=at, figure=figure)
    elif kind == "contour":
        pair = along or [name for name, each in study.space.parameters.items() if each.width][:2]
        pictures.slice(study, pair, at=at, ax=figure.subplots())
    elif kind == "studies":
        pictures.studies(_beside(study, also), ax=figure.subplots())
    elif kind == "policy":
        pictures.policy(study, along[0] if along else None, at=at, ax=figure.subplots())
    elif kind == "outcomes":
        pictures.outcomes(study, along[0] if along else None, ax=figure.subplots())
    elif kind == "slice":
        pictures.slice(study, along, at=at, ax=figure.subplots())
    elif kind == "certificate":
        pictures.certificate(study, delta=delta, ax=figure.subplots())
    else:
        getattr(pictures, kind)(study, ax=figure.subplots())
    return figure


def _beside(study: Study, also: Sequence[str]) -> list[Study]:
    """The study and those named, or all others of its goal in the same storage."""
    storage = study._storage
    named = [Study.open(name, storage=storage) for name in also]
    if not named:
        others = (each for each in storage.summaries() if each.name != study.name)
        named = [
            Study.open(each.name, storage=storage) for each in others if each.goal == study.goal
        ]
    return [study, *named]


def _file_name(name: str) -> str:
    """A study may be called anything; a file may not."""
    return (
        "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip(
            ".-"
        )
        or "study"
    )


# -- the page --


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

        from noregret.web.app import bounded, create_app
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
    server = uvicorn.Server(bounded(app, host=host, port=port, log_level="warning"))
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
