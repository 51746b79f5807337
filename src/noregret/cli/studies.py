"""Commands about whole studies: create, derive, list, serve, delete, backup, recover, upgrade."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from noregret.cli.definition import (
    Flag,
    ParameterType,
    limits,
    read_constraints,
    settings,
    typed_strategy,
)
from noregret.cli.options import Target, beyond, command, complete_study, pairs
from noregret.cli.output import counts, counts_text, parameters_text, study_document
from noregret.diagnostics.presentation import number, table
from noregret.errors import ConfigurationError, MissingExtraError, SpaceError, StudyExistsError
from noregret.storage import SQLStorage
from noregret.storage import backup as backup_storage
from noregret.storage import recover as recover_storage
from noregret.storage import upgrade as upgrade_storage
from noregret.strategies import NAMED, names
from noregret.study import Study, parsed, units_of

SECTION = "Study"
PARAMETERS = {  # words after --float, …, and the help
    "float": (
        "NAME LOW HIGH [log] [step=…|digits=…]",
        "A real parameter. With a step or digits, only such values are proposed.",
    ),
    "int": ("NAME LOW HIGH [log] [step=…]", "A whole number, both ends included."),
    "choice": ("NAME OPTION OPTION …", "One of several options without order."),
    "levels": ("NAME LEVEL LEVEL …", "Levels of a scale, in their order."),
}
CONSTRAINTS = {
    "linear": ("SUM", "A constraint on a sum: 'a + 2 b <= 1' or 'a + b + c = 1'."),
    "forbidden": ("NAME=VALUE, …", "A combination that must not be run."),
    "satisfies": ("MODULE:FUNCTION", "A Python function that says whether a point may be run."),
    "only": ("NAME CHOICE=OPTION, …", "A parameter that exists only for some options of a choice."),
}


def _complete_strategy(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


def definition(function: Callable[..., None]) -> Callable[..., None]:
    """The options that define a study. Parameters arrive as ``flags`` in the order typed,
    constraints as pairs of kind and text.
    """

    @functools.wraps(function)
    def gathered(*args: Any, **values: Any) -> None:
        flags: list[Flag] = [flag for kind in PARAMETERS for flag in values.pop(f"{kind}_")]
        rules = [(kind, text) for kind in CONSTRAINTS for text in values.pop(kind)]
        flags.sort(key=lambda flag: flag.place)
        function(*args, flags=flags, constraints=rules, **values)

    strategies = f"{', '.join(NAMED)}, an extension such as thompson, or one of another package"
    options = [
        *(
            click.option(
                f"--{kind}",
                f"{kind}_",
                type=ParameterType(kind),
                multiple=True,
                metavar=metavar,
                help=text,
            )
            for kind, (metavar, text) in PARAMETERS.items()
        ),
        *(
            click.option(f"--{kind}", multiple=True, metavar=metavar, help=text)
            for kind, (metavar, text) in CONSTRAINTS.items()
        ),
        click.option("--goal", type=click.Choice(["maximize", "minimize"]), help="The goal."),
        click.option(
            "--strategy",
            metavar="NAME",
            shell_complete=_complete_strategy,
            help=f"How points are chosen: {strategies}.  [default: insured]",
        ),
        click.option(
            "--with",
            "options",
            multiple=True,
            metavar="OPTION=VALUE",
            help="An option of the strategy, such as noise_bound=0.1 for rigorous.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            help="Seed of the random numbers.  [default: 0]",
        ),
        click.option(
            "--outcome",
            "outcomes",
            multiple=True,
            metavar="NAME<=LIMIT",
            help="A measurement beside the value, with its limit: 'toxicity<=0.3', 'purity>=50'.",
        ),
        click.option(
            "--context",
            multiple=True,
            metavar="NAME",
            help="A parameter that you cannot choose; its current value is given at each ask.",
        ),
    ]
    for option in reversed(options):
        gathered = option(gathered)
    return gathered


@command(
    SECTION,
    "noregret create lab --float temperature 20 90 --int stirring 1 5"
    " --choice solvent water dmf --goal maximize",
    study=None,
)
@click.argument("name")
@click.option(
    "--candidates",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="A list of designs to choose from instead of parameters: a line of names, then designs.",
)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE.toml|json",
    help="A file with goal, seed, strategy and parameters or candidates.",
)
@definition
def create(target: Target, name: str, **values: Any) -> None:
    """Make a study from its parameters and its goal."""
    if not name.strip() or not name.isprintable():
        raise ConfigurationError(f"a study needs a name of printable characters, got {name!r}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arguments = settings(**values)
        storage = SQLStorage(target.storage)
        try:
            study = Study.create(name, storage=storage, **arguments)
        except StudyExistsError:
            again = replace(target, study=name).again("ask")
            raise StudyExistsError(
                f"study {name} exists already: choose another name, or continue it with `{again}`"
            ) from None
    for warning in caught:
        click.echo(f"noregret: {warning.message}", err=True)
    again = _next(study, replace(target, study=name if len(storage.names()) > 1 else None))
    text = f"study {name}: {study.goal}, {parameters_text(study)}\n\n{again}"
    target.emit(study_document(study), text)


def _next(study: Study, target: Target) -> str:
    context = "".join(f" --context {name}=…" for name in study.context)
    return f"next: {target.again('ask')}{context}"


@command(
    SECTION,
    "noregret derive lab lab2 --float temperature 20 120 --float pH 3 9 --past pH=7",
    study=beyond(1),
)
@click.argument("name")
@definition
@click.option(
    "--past",
    multiple=True,
    metavar="NAME=VALUE",
    help="The value that a new parameter had in the old trials.",
)
@click.option(
    "--unconstrained",
    is_flag=True,
    help="Leave out the constraints, outcome limits and context of the old study.",
)
@click.option("--note", metavar="TEXT", help="A note to store with the study.")
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
    **changes: Any,
) -> None:
    """Make a new study NAME with the trials of STUDY.

    Without options it is a copy. Parameters, given as for `create`, replace those of the same name
    or are added; all others stay. Constraints replace those of the old study, which is not changed.
    """
    chosen = typed_strategy(strategy, options)
    study = target.open()
    parameters = {flag.name: flag.parameter for flag in flags}
    known = {**study.space.parameters, **parameters}
    units, texts = units_of(study.record().attributes), pairs(past)
    for new in parameters:
        if new not in study.space.parameters and new not in texts:
            raise SpaceError(f"{new} is new: give its value in the old trials, --past {new}=VALUE")
    new_study = study.derived(
        name,
        parameters=parameters or None,
        constraints=(
            read_constraints(constraints, known) if constraints or unconstrained else None
        ),
        outcomes=limits(outcomes) if outcomes or unconstrained else None,
        context=context if context or unconstrained else None,
        past={
            key: parsed(text, key, known[key], units) if key in known else text
            for key, text in texts.items()
        },
        strategy=chosen,
        **changes,
    )
    document = study_document(new_study)
    document |= {"origin": dict(new_study.record().origin or {}), "trials": len(new_study.trials)}
    target.emit(
        document,
        f"study {name} from {study.name}: {new_study.goal}, {parameters_text(new_study)};"
        f" {counts_text(counts(new_study))}\n\n{_next(new_study, replace(target, study=name))}",
    )


@command(SECTION, "noregret list --storage lab.db", name="list", study=None)
def list_(target: Target) -> None:
    """List the studies of a database."""
    summaries = target.connect().summaries()
    header = ["study", "goal", "trials", "complete", "under way", "waiting", "failed", "best"]
    rows = [
        [
            each.name,
            each.goal,
            *map(str, (each.trials, each.complete, each.running, each.waiting, each.failed)),
            number(each.best),
            each.last_activity[:16].replace("T", " "),
        ]
        for each in summaries
    ]
    text = table([*header, "last activity (UTC)"], rows, right=range(2, 8))
    target.emit(
        {"studies": [asdict(each) for each in summaries]},
        text if rows else "no studies yet: make one with `noregret create`",
    )


@command(SECTION, "noregret serve --storage tuning.db --write", study=None)
@click.option(
    "--host", default="127.0.0.1", help="Address to listen on. Any but the default needs a token."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8080, help="Port; 0 takes any.")
@click.option(
    "--write",
    is_flag=True,
    help="Allow creating studies, asking and telling. Without it the page only reads.",
)
@click.option(
    "--token",
    envvar="NOREGRET_TOKEN",
    help="Token for visitors and programs; better given as NOREGRET_TOKEN.",
)
def serve(target: Target, host: str, port: int, write: bool, token: str | None) -> None:
    """Show the studies of a database as a web page.

    The page shows the model's predictions and records experiments run by hand. It never evaluates
    an objective. Only with --write does it make a new database. Stop it with Ctrl-C.
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

    plotly_file()
    access = Access(write, token or None, host)
    app = create_app(SQLStorage(target.storage if write else target.existing()), access)
    server = uvicorn.Server(bounded(app, host=host, port=port, log_level="warning"))
    server.config.load()
    socket = server.config.bind_socket()
    socket.listen()  # the address printed below answers at once
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{socket.getsockname()[1]}/"
    target.emit(
        {"url": url, "write": write},
        f"{url}  ({'reads and writes' if write else 'reads only'}; Ctrl-C ends it)",
    )
    with suppress(KeyboardInterrupt):  # the server has closed everything by then
        server.run(sockets=[socket])


@command(SECTION, "noregret delete lab --yes", study=None)
@click.argument("name", shell_complete=complete_study)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(target: Target, name: str, yes: bool) -> None:
    """Delete a study with all its trials for good."""
    storage = target.connect()
    study = Study.open(name, storage=storage)
    subject = f"study {name} ({counts_text(counts(study))})"
    if not yes:
        if target.as_json:
            raise ConfigurationError(
                f"{subject} would be deleted for good: add --yes (--json asks no question)"
            )
        try:
            click.confirm(f"delete {subject} for good?", abort=True, err=True)
        except click.Abort:
            raise ConfigurationError("nothing was deleted: answer y, or add --yes") from None
    storage.delete(name)
    target.emit({"deleted": name}, f"deleted {subject}")


@command(SECTION, "noregret backup monday.db --storage lab.db", study=None)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
def backup(target: Target, file: Path) -> None:
    """Copy a SQLite database in use into a new FILE.

    The copy is one complete file. Other ways to copy a database in use lose the latest changes,
    which are in the file beside it that ends in -wal.
    """
    path = backup_storage(file, target.existing())
    target.emit({"file": str(path)}, f"copied all studies to {path}")


@command(SECTION, "noregret recover --storage damaged.db --json > saved.json", study=None)
def recover(target: Target) -> None:
    """Read all that a damaged SQLite file still holds.

    What cannot be read is named. With --json the studies are printed in full, their trials as
    `noregret export` writes them. The file is not changed.
    """
    found = recover_storage(target.existing())
    lines = [
        f"{each['name'] or 'study ' + str(each['study'])}: {len(each['trials'])} trials"
        for each in found.studies
    ]
    lines += [f"lost: {each}" for each in found.lost] or ["all that was found could be read"]
    target.emit({"studies": found.studies, "lost": found.lost}, "\n".join(lines))


@command(SECTION, "noregret upgrade --storage lab.db", study=None)
def upgrade(target: Target) -> None:
    """Upgrade a database that an older version wrote."""
    before, after = upgrade_storage(target.existing())
    text = (
        f"the database has schema {after} already"
        if before == after
        else f"upgraded the database from schema {before} to {after}"
    )
    target.emit({"from": before, "to": after}, text)
