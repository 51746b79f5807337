"""An objective under observation: what goes wrong is said in a line, counted, and ends the run when
it goes wrong again and again.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click

from noregret.cli.function import describe
from noregret.cli.output import point_text
from noregret.cli.program import EvaluationError, NotStartedError, RunOverError
from noregret.errors import NoRegretError
from noregret.study import Study
from noregret.trials import measured

Objective = Callable[[Any], Any]


class UnusableError(BaseException):
    """No point is to blame. As Ctrl-C does, it passes through the run, so that the trials under way
    wait to be given out again.
    """


@dataclass(slots=True)
class Watched:
    """Too many failures in a row, ``limit``, and it gives up."""

    study: Study
    objective: Objective
    limit: int
    in_a_row: int = 0
    failed: int = 0
    last: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, params: Any) -> tuple[float, float | None]:
        try:
            outcome = measured(self.objective(params))
        except NotStartedError as error:
            raise UnusableError(str(error)) from None
        except RunOverError:
            raise
        except Exception as error:
            self._report(params, reason(error))
            raise EvaluationError(self.last) from None
        with self._lock:
            self.in_a_row = 0
        return outcome

    def _report(self, params: Any, why: str) -> None:
        with self._lock:
            self.in_a_row, self.failed, self.last = self.in_a_row + 1, self.failed + 1, why
            clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # a progress bar may be in the line
            click.echo(
                f"{clear}noregret: failed at {point_text(self.study, params)}: {why}", err=True
            )

    @property
    def gave_up(self) -> bool:
        return self.in_a_row >= self.limit


def reason(error: Exception) -> str:
    """A failure in a line."""
    if isinstance(error, EvaluationError):
        return str(error)
    if isinstance(error, NoRegretError):
        return str(error).partition(":")[
            0
        ]  # what is wrong; the advice after it is for those who tell
    return describe(error)
