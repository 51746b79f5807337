"""Parameters typed as flags: ``--float lr 1e-5 1e-1 log --int layers 1 8 --choice solvent water
dmf``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from noregret.cli.options import NEGATIVE
from noregret.errors import SpaceError
from noregret.space import Choice, Float, Int, Parameter

FLAGS = ("--float", "--int", "--choice")


class CreateCommand(click.Command):
    """A command whose parameter flags take all words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        gathered, place = list[str](), 0
        while place < len(args):
            word, place = args[place], place + 1
            gathered.append(word)
            if word in FLAGS:
                end = next(
                    (
                        i
                        for i in range(place, len(args))
                        if args[i].startswith("-") and not NEGATIVE.match(args[i])
                    ),
                    len(args),
                )
                gathered.append(
                    json.dumps([place, *args[place:end]])
                )  # the place keeps the order in which they were typed
                place = end
        return super().parse_args(ctx, gathered)


@dataclass(frozen=True, slots=True)
class Flag:
    """A parameter as typed, and where."""

    place: int
    name: str
    parameter: Parameter


class ParameterType(click.ParamType[Flag]):
    """The words behind a flag."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Flag:
        if isinstance(value, Flag):
            return value
        place, *words = json.loads(value)
        try:
            return Flag(place, words[0] if words else "", self._parameter(words))
        except SpaceError as error:
            return self.fail(str(error), param, ctx)

    def _parameter(self, words: list[str]) -> Parameter:
        if self.name == "choice":
            if len(words) < 2:
                raise SpaceError(
                    "write --choice NAME OPTION OPTION …, such as --choice solvent water dmf"
                )
            return Choice(numbers(words[1:]))
        if len(words) not in (3, 4) or words[3:] not in ([], ["log"]):
            example = "lr 1e-5 1e-1 log" if self.name == "float" else "layers 1 8"
            raise SpaceError(
                f"write --{self.name} NAME LOW HIGH, with log for a log scale, such as"
                f" --{self.name} {example}; got {' '.join(words)!r}. The study's name comes first"
            )
        low, high = numbers(words[1:3])
        return (Float if self.name == "float" else Int)(low, high, log=len(words) == 4)


def numbers(words: Sequence[str]) -> list[Any]:
    """Numbers if every word is one, else the words."""
    for kind in (int, float):
        try:
            return [kind(word) for word in words]
        except ValueError:
            continue
    return list(words)
