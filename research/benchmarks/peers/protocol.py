"""The conversation of a worker with the harness: JSON lines in, JSON lines out.

The harness sends ``start`` (see Setting), then ``tell`` and ``ask``, then ``stop``; only ``ask`` is
answered, with the point and the seconds the peer took for it and for the tells since the last one.
A failure is answered ``{"error": …}``.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TextIO

from research.benchmarks.peers.setting import Setting, Value


class Optimizer(Protocol):
    """What an adapter is: minimises, and may be told points it never asked for.

    One with a state for failed trials has ``fail``; to the others a failure is told as the worst
    value so far, as their users do.
    """

    def tell(self, x: list[Value], y: float) -> None: ...

    def ask(self) -> list[Value]: ...


def serve(
    load: Callable[[], Callable[[Setting], Optimizer]], messages: Iterable[str], replies: TextIO
) -> int:
    """Answers messages until ``stop`` or their end. Returns the exit status."""
    try:
        _converse(load, messages, replies)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        _reply(replies, {"error": f"{type(error).__name__}: {error}"})
        return 1
    return 0


def _converse(
    load: Callable[[], Callable[[Setting], Optimizer]], messages: Iterable[str], replies: TextIO
) -> None:
    started: tuple[Setting, Optimizer] | None = None
    seconds, worst = 0.0, 0.0
    for line in messages:
        message = json.loads(line)
        if message["op"] == "stop":
            return
        if message["op"] == "start":
            setting = Setting.from_message(message)
            started = setting, load()(setting)
            continue
        if started is None:
            raise ValueError(f"the first message must be start, got {message['op']!r}")
        setting, optimizer = started
        clock = time.perf_counter()
        if message["op"] == "tell":
            x, y = setting.native(message["x"]), message["y"]
            if y is None and hasattr(optimizer, "fail"):
                optimizer.fail(x)
            else:
                worst = worst if y is None else max(worst, float(y))
                optimizer.tell(x, worst if y is None else float(y))
            seconds += time.perf_counter() - clock
        elif message["op"] == "ask":
            x = setting.native(optimizer.ask())
            _reply(replies, {"x": x, "seconds": seconds + time.perf_counter() - clock})
            seconds = 0.0
        else:
            raise ValueError(f"op must be start, tell, ask or stop, got {message['op']!r}")


def _reply(replies: TextIO, reply: dict[str, Any]) -> None:
    replies.write(json.dumps(reply) + "\n")
    replies.flush()
