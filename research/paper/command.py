"""``noregret research reproduce``: the paper's figures, each from one command. A source checkout
offers it, an installed package does not.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import click

from noregret.errors import NoRegretError
from research.paper import FIGURES, MORE


@click.command(
    short_help="The paper's figures",
    epilog="Example: noregret research reproduce fig4 --seeds 10 --out out/reproduction",
)
@click.argument("figures", nargs=-1, required=True, type=click.Choice([*FIGURES, *MORE, "all"]))
@click.option("--seeds", type=click.IntRange(min=1), help="Number of starts or samples.")
@click.option(
    "--iterations",
    type=click.IntRange(min=10),
    help="Decisions per run, the initial points not counted.",
)
@click.option(
    "--noise",
    type=click.FloatRange(min=0, min_open=True),
    help="Standard deviation of the noise (figures 1 to 5).  [default: 0.05]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/reproduction"),
    show_default=True,
    help="Where results go.",
)
@click.option("--quick", is_flag=True, help="Fewer seeds and steps: a few minutes for everything.")
@click.option(
    "--mnist",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with the four MNIST files, gzipped or not (figure 6).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summaries as JSON.")
def reproduce(
    figures: tuple[str, ...],
    seeds: int | None,
    iterations: int | None,
    noise: float | None,
    out: Path,
    quick: bool,
    mnist: Path | None,
    as_json: bool,
) -> None:
    """Compute the paper's figures: curves (CSV), picture (PNG, PDF) and summary (JSON).

    Runs on all cores. A killed run continues where it stopped.
    """
    from research.paper import runner  # slow to import, and the command line lists this command

    options = runner.Options(
        out=out, quick=quick, seeds=seeds, iterations=iterations, noise=noise, mnist=mnist
    )
    summaries, problems = [], []
    for name in (*FIGURES, *MORE) if "all" in figures else dict.fromkeys(figures):
        try:
            summary = runner.reproduce(importlib.import_module(f"research.paper.{name}"), options)
        except NoRegretError as error:
            problems.append(f"{name}: {error}")
            click.echo(f"noregret: {name} was not computed: {error}", err=True)
            continue
        summaries.append(summary)
        if not as_json:
            click.echo(
                f"{name}: {summary['title']} ({summary['runs']} runs, {summary['seconds']:.0f} s of"
                f" computing) → {out / name}/{name}.png"
            )
    if as_json:
        click.echo(json.dumps(summaries, indent=2))
    if problems:
        raise NoRegretError(
            f"{len(problems)} of {len(problems) + len(summaries)} figures were not computed, see"
            " above"
        )
