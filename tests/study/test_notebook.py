"""What a notebook shows: short, escaped, and a bar that moves."""

import sys
from types import ModuleType
from typing import Any

import pytest

import noregret as nr
from noregret.study import Progress

SPACE = {"<b>": nr.Float(0, 1), "n": nr.Int(1, 5)}


def test_everything_has_a_short_table() -> None:
    study = nr.Study(SPACE, "minimize", name="<script>").run(lambda p: p["<b>"], 8)
    study.tell(study.ask(), state="failed", reason="no <gas>")
    belief, certificate = study.belief(), study.certificate()
    for each in (study, study.trials[0], study.trials[-1], belief, certificate):
        html = each._repr_html_()  # type: ignore[union-attr]
        assert html.startswith("<div><b>")
        assert len(html) < 2500
        assert "<script>" not in html
        assert "<gas>" not in html
    assert "&lt;script&gt;" in study._repr_html_()
    assert "8 complete" in study._repr_html_()
    assert "no &lt;gas&gt;" in study.trials[-1]._repr_html_()
    assert nr.Study(SPACE, "minimize")._repr_html_().count("none yet") == 1


def test_reprs_are_a_line() -> None:
    study = nr.Study([(0, 1), (0, 1)], "minimize").run(lambda x: x[0], 8)
    for each in (study, study.trials[0], study.belief(), study.certificate()):
        assert len(repr(each)) < 500
        assert "\n" not in repr(each)
    assert repr(study.trials[0]).startswith("<Trial 0: complete 0.")
    assert repr(nr.Trial(3, {"x": 0.5, "s": "a"})) == "<Trial 3: running at x=0.5, s=a>"
    assert repr(study).endswith(
        f"best {study.best.value:.6g} at {repr(study.best).split(' at ')[1]}"
    )
    assert len(repr(study.trials[-1].decision)) < 250  # without what the strategy recorded
    many = nr.Study({f"x{i}": nr.Float(0, 1) for i in range(30)}, "maximize")
    many.tell(many.ask(), 1.0)
    assert "x7=0." in repr(many)
    assert repr(many).endswith("… 22 more>")
    assert repr(study.belief()).startswith("<Belief: lengthscales ")
    assert repr(nr.Float(0, 1)) == "Float(low=0.0, high=1.0)"
    assert repr(nr.Float(0, 1, step=0.5)) == "Float(low=0.0, high=1.0, step=0.5)"
    assert repr(nr.Choice(["a", "b"])) == "Choice(options=('a', 'b'))"


class Handle:
    def __init__(self, shown: list[str]) -> None:
        self.shown = shown

    def update(self, data: dict[str, str], raw: bool) -> None:
        self.shown.append(data["text/plain"])


def test_a_bar_in_a_notebook(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        shown.append(data["text/plain"])
        return Handle(shown)

    class ZMQInteractiveShell: ...

    ipython, inner = ModuleType("IPython"), ModuleType("IPython.display")
    vars(ipython)["get_ipython"] = ZMQInteractiveShell
    vars(inner)["display"] = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    nr.minimize(lambda p: p["<b>"], SPACE, 4, nr.RandomSearch())
    assert len(shown) == 5
    assert "4/4" in shown[-1]
    assert "best 0." in shown[-1]
    nr.minimize(lambda p: p["<b>"], SPACE, 4, nr.RandomSearch(), progress=False)
    assert len(shown) == 5
    assert capsys.readouterr().err == ""
    vars(ipython)["get_ipython"] = lambda: None  # IPython in a terminal, or none
    with Progress(3) as bar:
        bar.advance()
    assert len(shown) == 5


def test_no_notebook_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    done: Any = nr.minimize(lambda p: p["<b>"], SPACE, 2, nr.RandomSearch())
    assert len(done.trials) == 2
    assert capsys.readouterr().err == ""
