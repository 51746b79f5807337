"""Commands about whole studies: create, derive, list, serve, delete, backup, recover, upgrade."""

from __future__ import annotations

import os
import shutil
import warnings
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import click

from noregret.cli import options, output
from noregret.cli.definition import Definition, limits_of, read_constraints, study_arguments
from noregret.diagnostics.presentation import format_number, format_table
from noregret.errors import ConfigurationError, MissingExtraError, SpaceError, StudyExistsError
from noregret.storage import SQLStorage
from noregret.storage import backup as backup_storage
from noregret.storage import recover as recover_storage
from noregret.storage import upgrade as upgrade_storage
from noregret.storage.database import storage_url
from noregret.study import Study, parsed, units_of
from noregret.web import artifacts


@options.command
def create_command(
    target: options.DatabaseTarget,
    name: str,
    *,
    candidates: Annotated[Path | None, "FILE.csv"] = None,
    file: Annotated[Path | None, "FILE.toml|json"] = None,
    definition: Definition,
) -> None:
    """Make a study from its parameters and its goal.

    Args:
        candidates: A list of designs to choose from instead of parameters: a line of names, then
            designs.
        file: A file with goal, seed, strategy and parameters or candidates.

    Example:
        noregret create lab --float temperature 20 90 --int stirring 1 5 --choice solvent water dmf
        --goal maximize
    """
    if not name.strip() or not name.isprintable():
        raise ConfigurationError(f"a study needs a name of printable characters, got {name!r}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arguments = study_arguments(definition, file, candidates)
        storage = SQLStorage(target.storage)
        try:
            study = Study.create(name, storage=storage, **arguments)
        except StudyExistsError:
            message = f"study {name} exists already: choose another name, or continue it with"
            raise StudyExistsError(f"{message} `{target.again('ask', name)}`") from None
    for warning in caught:
        click.echo(f"noregret: {warning.message}", err=True)
    next_ = _next(target, study, len(storage.names()) > 1)
    text = f"study {name}: {study.goal}, {output.parameters_text(study)}\n\n{next_}"
    target.emit(output.study_document(study), text)


def _next(target: options.DatabaseTarget, study: Study, named: bool = True) -> str:
    context = "".join(f" --context {name}=…" for name in study.context)
    return f"next: {target.again('ask', study.name if named else None)}{context}"


@options.command
def derive_command(
    target: options.Target,
    name: str,
    *,
    definition: Definition,
    past: options.Assignments = (),
    unconstrained: bool = False,
    note: options.Text = None,
) -> None:
    """Make a new study NAME with the trials of STUDY.

    Without options it is a copy. Parameters, given as for `create`, replace those of the same name
    or are added; all others stay. Constraints replace those of the old study, which is not changed.

    Args:
        past: Value of a new parameter in the old trials.
        unconstrained: Leave out the constraints, outcome limits and context of the old study.
        note: A note to store with the study.

    Example:
        noregret derive lab lab2 --float temperature 20 120 --float pH 3 9 --past pH=7
    """
    strategy = definition.chosen_strategy()
    parameters, rules = dict(definition.parameters()), definition.rules()
    study = target.open()
    known = {**study.space.parameters, **parameters}
    units, values = units_of(study.record().attributes), dict[str, Any](options.read_pairs(past))
    for new in parameters:
        if new not in study.space.parameters and new not in values:
            raise SpaceError(f"{new} is new: give its value in the old trials, --past {new}=VALUE")
    for key in values.keys() & known.keys():
        values[key] = parsed(values[key], key, known[key], units)
    new_study = study.derived(
        name,
        parameters=parameters or None,
        constraints=read_constraints(rules, known) if rules or unconstrained else None,
        outcomes=limits_of(definition.outcome) if definition.outcome or unconstrained else None,
        context=definition.context if definition.context or unconstrained else None,
        past=values,
        strategy=strategy,
        goal=definition.goal,
        seed=definition.seed,
        note=note,
    )
    document = output.study_document(new_study)
    document |= {"origin": dict(new_study.record().origin or {}), "trials": len(new_study.trials)}
    text = f"study {name} from {study.name}: {new_study.goal}, {output.parameters_text(new_study)}"
    text += f"; {output.counts_text(new_study)}\n\n{_next(target, new_study)}"
    target.emit(document, text)


@options.command
def list_command(target: options.DatabaseTarget) -> None:
    """List the studies of a database.

    Example:
        noregret list --storage lab.db
    """
    summaries = target.connect().summaries()
    header = "study goal trials complete under_way waiting failed best last_activity_(UTC)"
    rows = []
    for each in summaries:
        numbers = (each.trials, each.complete, each.running, each.waiting, each.failed)
        active = each.last_activity[:16].replace("T", " ")
        rows.append([each.name, each.goal, *map(str, numbers), format_number(each.best), active])
    columns = [word.replace("_", " ") for word in header.split()]
    text = format_table(columns, rows, right=range(2, 8))
    target.emit(
        {"studies": [asdict(each) for each in summaries]},
        text if rows else "no studies yet: make one with `noregret create`",
    )


@options.command
def serve_command(
    target: options.DatabaseTarget,
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, click.IntRange(0, 65535)] = 8080,
    write: bool = False,
    token: options.Text = None,
) -> None:
    """Show the studies of a database as a web page.

    The page shows the model's predictions and records experiments run by hand. It never evaluates
    an objective. Only with --write does it make a new database. Stop it with Ctrl-C.

    Args:
        host: Address to listen on. Any but the default needs a token.
        port: Port; 0 takes any.
        write: Allow creating studies, asking and telling. Without it the page only reads.
        token: Token for visitors and programs; better given as NOREGRET_TOKEN.

    Example:
        noregret serve --storage tuning.db --write
    """
    try:
        import uvicorn

        from noregret.web.app import create_app, server_config
        from noregret.web.security import Access
    except ImportError as error:
        raise MissingExtraError(
            f"the page needs {error.name}: install it with `pip install noregret[web]`"
        ) from None

    access = Access(write, token or os.environ.get("NOREGRET_TOKEN") or None, host)
    app = create_app(SQLStorage(target.storage if write else target.existing()), access)
    server = uvicorn.Server(server_config(app, host=host, port=port, log_level="warning"))
    server.config.load()
    socket = server.config.bind_socket()
    socket.listen()  # the address printed below answers at once
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{socket.getsockname()[1]}/"
    rights = "reads and writes" if write else "reads only"
    target.emit({"url": url, "write": write}, f"{url}  ({rights}; Ctrl-C ends it)")
    with suppress(KeyboardInterrupt):  # the server has closed everything by then
        server.run(sockets=[socket])


@options.command
def delete_command(
    target: options.DatabaseTarget, name: options.StudyName, *, yes: bool = False
) -> None:
    """Delete a study with all its trials for good.

    Args:
        yes: Do not ask for confirmation.

    Example:
        noregret delete lab --yes
    """
    storage = target.connect()
    study = Study.open(name, storage=storage)
    subject = f"study {name} ({output.counts_text(study)})"
    if not yes:
        if target.as_json:
            raise ConfigurationError(
                f"{subject} would be deleted for good: add --yes (--json asks no question)"
            )
        try:
            click.confirm(f"delete {subject} for good?", abort=True, err=True)
        except click.Abort:
            raise ConfigurationError("nothing was deleted: answer y, or add --yes") from None
    record = study.record()
    storage.delete(name)
    artifacts.forget(storage.url, record)
    target.emit({"deleted": name}, f"deleted {subject}")


@options.command
def backup_command(target: options.DatabaseTarget, file: Path) -> None:
    """Copy a SQLite database in use into a new FILE.

    The copy is one complete file, and a folder if files are kept beside trials. Other ways to copy
    a database in use lose the latest changes, which are in the file beside it that ends in -wal.

    Example:
        noregret database backup monday.db --storage lab.db
    """
    path = backup_storage(file, target.existing())
    files = artifacts.root(storage_url(target.storage))
    if files.is_dir():
        shutil.copytree(files, artifacts.root(storage_url(path)))
    target.emit({"file": str(path)}, f"copied all studies to {path}")


@options.command
def recover_command(target: options.DatabaseTarget) -> None:
    """Read all that a damaged SQLite file still holds.

    What cannot be read is named. With --json the studies are printed in full, their trials as
    `noregret export` writes them. The file is not changed.

    Example:
        noregret database recover --storage damaged.db --json > saved.json
    """
    found = recover_storage(target.existing())
    named = [(each["name"] or f"study {each['study']}", each["trials"]) for each in found.studies]
    lines = [f"{name}: {len(trials)} trials" for name, trials in named]
    lines += [f"lost: {each}" for each in found.lost] or ["all that was found could be read"]
    target.emit({"studies": found.studies, "lost": found.lost}, "\n".join(lines))


@options.command
def upgrade_command(target: options.DatabaseTarget) -> None:
    """Upgrade a database that an older version wrote.

    Example:
        noregret database upgrade --storage lab.db
    """
    before, after = upgrade_storage(target.existing())
    changed = f"upgraded the database from schema {before} to {after}"
    text = f"the database has schema {after} already" if before == after else changed
    target.emit({"from": before, "to": after}, text)
