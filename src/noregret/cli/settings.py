"""What defines a study, from flags first, then from a file, then by default."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noregret.cli.files import read_candidates, read_study, written_space
from noregret.cli.flags import Flag
from noregret.cli.points import pairs
from noregret.cli.rehearsal import rehearse
from noregret.errors import ConfigurationError, SpaceError, StorageError
from noregret.space import Candidates, Space
from noregret.storage import codec
from noregret.strategies import Strategy, named


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``Study.create`` needs; goal and seed are checked there."""

    space: Space | Candidates
    goal: Any
    strategy: Strategy
    seed: Any


def settings(
    file: Path | None,
    flags: Sequence[Flag],
    candidates: Path | None,
    *,
    goal: str | None,
    strategy: str | None,
    options: Sequence[str],
    seed: int | None,
) -> Settings:
    written = {} if file is None else read_study(file)
    chosen = goal or written.get("goal")
    if chosen not in ("maximize", "minimize"):
        raise ConfigurationError(
            "say what is wanted: --goal maximize or --goal"
            f" minimize{'' if chosen is None else f', got {chosen!r}'}"
        )
    if options and strategy is None:
        raise ConfigurationError(
            "--with sets an option of the strategy named by --strategy: name it"
        )
    space = _space(written, file, flags, candidates)
    typed = None if strategy is None else {"name": strategy, **_typed(pairs(options))}
    made = _strategy(typed or written.get("strategy", "insured"))
    rehearse(made, space)
    return Settings(space, chosen, made, seed if seed is not None else written.get("seed", 0))


def _space(
    written: Mapping[str, Any], file: Path | None, flags: Sequence[Flag], candidates: Path | None
) -> Space | Candidates:
    """From one place only."""
    sources = [
        bool(flags),
        candidates is not None,
        "parameters" in written,
        "candidates" in written,
    ]
    if not any(sources):
        raise ConfigurationError(
            "a study needs parameters: --float, --int, --choice, a list with --candidates, or a"
            " file with --file"
        )
    if sum(sources) > 1:
        raise ConfigurationError(
            "the parameters are given twice: as flags, with --candidates or in the file, but not in"
            " two of these"
        )
    if flags:
        space: Space | Candidates = Space(
            [(flag.name, flag.parameter) for flag in sorted(flags, key=lambda flag: flag.place)]
        )
    elif candidates is not None:
        space = read_candidates(candidates)
    else:
        assert file is not None
        space = written_space(written, file.parent)
    for name in space.parameters:
        if "=" in name or not name.isprintable():
            raise SpaceError(
                f"a parameter called {name!r} cannot be typed as NAME=VALUE: call it something"
                " without = and control characters"
            )
    return space


def _strategy(wanted: Any) -> Strategy:
    """By name; by name with options; or in full, as a study's row holds it."""
    if isinstance(wanted, str):
        return named(wanted, {})
    if not isinstance(wanted, Mapping) or ("name" in wanted) == ("type" in wanted):
        raise ConfigurationError(
            f"a strategy is a name, or a table with its name and options, got {wanted!r}"
        )
    try:
        if "name" in wanted:
            return named(
                wanted["name"],
                {key: codec.from_json(value) for key, value in wanted.items() if key != "name"},
            )
        whole = codec.from_json(wanted)
    except (TypeError, StorageError) as error:
        raise ConfigurationError(f"the strategy cannot be read: {error}") from None
    if not isinstance(whole, Strategy):
        raise ConfigurationError(f"{wanted['type']} is not a strategy")
    return whole


def _typed(texts: Mapping[str, str]) -> dict[str, Any]:
    """JSON where it is JSON, text otherwise."""
    found: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found
