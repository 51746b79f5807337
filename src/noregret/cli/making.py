"""Commands that make a study: create, and derive from another with its trials."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from noregret.cli.definition import CreateCommand, Flag, ParameterType, settings
from noregret.cli.limits import typed_constraints
from noregret.cli.options import Target, on_storage, on_study, pairs, typed
from noregret.cli.outcomes import CONTEXT_NAMES, LIMITS_OPTION, read_limits
from noregret.cli.output import counted, counts
from noregret.cli.studies import parameters_text, study_document
from noregret.errors import ConfigurationError
from noregret.storage import SQLStorage
from noregret.strategies import NAMED, named, names
from noregret.study import Study, parsed, units_of

PARAMETERS = {  # what is typed after --float, … and what it means
    "float": (
        "NAME LOW HIGH [log] [step=…|digits=…]",
        "A real parameter; with a step or digits, only such values are proposed.",
    ),
    "int": ("NAME LOW HIGH [log] [step=…]", "A whole number, both ends included."),
    "choice": ("NAME OPTION OPTION …", "One of several options, without order."),
    "levels": ("NAME LEVEL LEVEL …", "Levels of a scale, in their order: neighbours are alike."),
}


LIMITS = {
    "linear": ("SUM", "What a sum must be, such as 'a + 2 b <= 1' or 'a + b + c = 1'."),
    "forbidden": ("NAME=VALUE, …", "A combination that must not be run."),
    "satisfies": ("MODULE:FUNCTION", "A function of a point that says whether it may be run."),
    "only": ("NAME CHOICE=OPTION, …", "An input that exists only for some options of a choice."),
}


def _strategies(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


def defining(goal: str, strategy: str, seed: str) -> Callable[[Callable[..., None]], Any]:
    """The options that say what a study is, with their help where commands differ. Parameters
    arrive together as ``flags``, in the order they were typed in.
    """

    def decorated(command: Callable[..., None]) -> Any:
        @functools.wraps(command)
        def gathered(*args: Any, **chosen: Any) -> None:
            flags: list[Flag] = [flag for kind in PARAMETERS for flag in chosen.pop(f"{kind}_")]
            limits = [(kind, text) for kind in LIMITS for text in chosen.pop(kind)]
            flags = sorted(flags, key=lambda flag: flag.place)
            command(*args, flags=flags, constraints=limits, **chosen)

        options = [
            *(
                click.option(
                    f"--{kind}",
                    f"{kind}_",
                    type=ParameterType(kind),
                    multiple=True,
                    metavar=metavar,
                    help=help_,
                )
                for kind, (metavar, help_) in PARAMETERS.items()
            ),
            *(
                click.option(f"--{kind}", multiple=True, metavar=metavar, help=help_)
                for kind, (metavar, help_) in LIMITS.items()
            ),
            click.option("--goal", type=click.Choice(["maximize", "minimize"]), help=goal),
            click.option("--strategy", metavar="NAME", shell_complete=_strategies, help=strategy),
            click.option(
                "--with",
                "options",
                multiple=True,
                metavar="OPTION=VALUE",
                help="An option of the strategy, such as noise_bound=0.1 for rigorous.",
            ),
            click.option("--seed", type=click.IntRange(min=0), help=seed),
            LIMITS_OPTION,
            CONTEXT_NAMES,
        ]
        made: Any = gathered
        for option in reversed(options):
            made = option(made)
        return made

    return decorated


@click.command(
    short_help="Make a study",
    cls=CreateCommand,
    epilog=(
        "Example: noregret create lab --float temperature 20 90 --int stirring 1 5"
        " --choice solvent water dmf --goal maximize"
    ),
)
@click.argument("name")
@click.option(
    "--candidates",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="A list of designs to choose from instead, one per line below the names.",
)
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE.toml|json",
    help="All of this from a file: goal, seed, strategy, parameters or candidates.",
)
@defining(
    goal="What is wanted; required, here or in the file.",
    strategy=(
        f"How points are chosen: {', '.join(NAMED)}, an extension such as"
        " thompson, or a strategy of another package."
        "  [default: insured]"
    ),
    seed="Of the random numbers.  [default: 0]",
)
@on_storage
def create(
    target: Target,
    name: str,
    flags: list[Flag],
    candidates: Path | None,
    file: Path | None,
    **chosen: Any,
) -> None:
    """Make a study: what may vary, and what is wanted."""
    if not name.strip() or not name.isprintable():
        raise ConfigurationError(f"a study needs a name of printable characters, got {name!r}")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        wanted = settings(file, flags, candidates, **chosen)
        storage = SQLStorage(target.storage)
        study = Study.create(
            name,
            wanted.space,
            wanted.goal,
            wanted.strategy,
            wanted.seed,
            storage=storage,
            outcomes=wanted.outcomes,
            context=wanted.context,
        )
    for warning in said:
        click.echo(f"noregret: {warning.message}", err=True)
    again = replace(target, study=name if len(storage.names()) > 1 else None)
    target.emit(
        study_document(study),
        f"study {name}: {study.goal}, {parameters_text(study)}\n\n{_next(study, again)}",
    )


def _next(study: Study, target: Target) -> str:
    given = "".join(f" --context {name}=…" for name in study.context)
    return f"next: {target.again('ask')}{given}"


@click.command(
    short_help="A new study with the trials of another",
    cls=CreateCommand,
    epilog=(
        "Example: noregret derive lab2 --study lab --float temperature 20 120 --float pH 3 9"
        " --past pH=7"
    ),
)
@click.argument("name")
@defining(goal="Another goal.", strategy="Another strategy.", seed="Of the random numbers.")
@click.option(
    "--past", multiple=True, metavar="NAME=VALUE", help="What a new input was in the old trials."
)
@click.option(
    "--unconstrained",
    is_flag=True,
    help="Without the constraints, limits and context that the old study had.",
)
@click.option("--note", metavar="TEXT", help="Words to keep with it.")
@on_study
def derive(
    target: Target,
    name: str,
    flags: list[Flag],
    constraints: list[tuple[str, str]],
    past: tuple[str, ...],
    unconstrained: bool,
    strategy: str | None,
    options: tuple[str, ...],
    outcomes: tuple[str, ...],
    context: tuple[str, ...],
    **changed: Any,
) -> None:
    """Make a new study NAME with the trials of another: a copy, or with a range widened, an input
    added, another strategy. Parameters are given as for `create`; those not named stay. Constraints
    that are given replace those it had. The old study stays as it is.
    """
    if options and strategy is None:
        raise ConfigurationError("--with sets an option of the strategy named by --strategy")
    study = target.open()
    parameters = {flag.name: flag.parameter for flag in flags}
    known = {**study.space.parameters, **parameters}
    units = units_of(study.record().attributes)
    values = {
        key: parsed(text, key, known[key], units) if key in known else text
        for key, text in pairs(past).items()
    }
    limits = typed_constraints(constraints, known) if constraints or unconstrained else None
    new = study.derived(
        name,
        parameters=parameters or None,
        constraints=limits,
        outcomes=read_limits(outcomes) if outcomes or unconstrained else None,
        context=context if context or unconstrained else None,
        past=values,
        strategy=None if strategy is None else named(strategy, typed(pairs(options))),
        **changed,
    )
    again = replace(target, study=name)
    said = (
        f"study {name} from {study.name}: {new.goal}, {parameters_text(new)};"
        f" {counted(counts(new))}"
    )
    target.emit(
        {
            **study_document(new),
            "origin": dict(new.record().origin or {}),
            "trials": len(new.trials),
        },
        f"{said}\n\n{_next(new, again)}",
    )
