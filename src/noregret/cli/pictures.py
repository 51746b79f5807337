"""``noregret plot``: a study as a picture in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noregret.cli.options import Target, on_study
from noregret.cli.points import parse_point
from noregret.errors import ConfigurationError, MissingExtraError
from noregret.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("convergence", "slice", "lengthscales", "certificate", "calibration")
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
    help="The parameter of a slice; twice for a map over two.  [default: the first]",
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
    out: Path | None,
) -> None:
    """Draw a study: values and the best so far (convergence), the model's mean and band along a
    parameter (slice), lengthscales and the widening h (lengthscales), the bound on the regret
    (certificate), whether predictions came true (calibration).
    """
    if (along or at) and kind != "slice":
        raise ConfigurationError(f"--along and --at are for `noregret plot slice`, not for {kind}")
    if delta is not None and kind != "certificate":
        raise ConfigurationError(f"--delta is for `noregret plot certificate`, not for {kind}")
    if out is not None and out.suffix[1:].lower() not in ENDINGS:
        raise ConfigurationError(
            f"{out} does not say which kind of picture is wanted: let it end in .png, .svg or .pdf"
        )
    study = target.open()
    path = out or Path(f"{_file_name(study.name)}-{kind}.png")
    figure = draw(study, kind, list(along) or None, parse_point(study, at), delta)
    figure.savefig(path, dpi=150)
    target.emit(
        {"study": study.name, "kind": kind, "file": str(path)}, f"{kind} of {study.name} in {path}"
    )


def draw(
    study: Study, kind: str, along: list[str] | None, at: dict[str, Any], delta: float | None
) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib: install it with `pip install noregret[plot]`"
        ) from None
    from noregret import plot as pictures

    figure = Figure(figsize=(7.2, 6.4 if kind == "lengthscales" else 4.2), layout="constrained")
    if kind == "lengthscales":
        above, below = figure.subplots(2, 1, sharex=True)
        pictures.lengthscales(study, ax=above).set_xlabel("")
        pictures.scaling(study, ax=below).set_title("")
    elif kind == "slice":
        pictures.slice(study, along, at=at, ax=figure.subplots())
    elif kind == "certificate":
        pictures.certificate(study, delta=delta, ax=figure.subplots())
    else:
        getattr(pictures, kind)(study, ax=figure.subplots())
    return figure


def _file_name(name: str) -> str:
    """A study may be called anything; a file may not."""
    return (
        "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip(
            ".-"
        )
        or "study"
    )
