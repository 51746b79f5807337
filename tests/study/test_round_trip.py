"""What is exported comes back identical, whatever the names and options are made of."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noregret as nr
from noregret.trials import Trial

TEXT = st.text(
    st.one_of(
        st.sampled_from(" \t\r\n\"',;=+-@0123456789.eE"),
        st.characters(codec="utf-8", exclude_characters="\0"),
    ),
    max_size=6,
)
OPTIONS = st.lists(
    st.one_of(
        TEXT,
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.none(),
        st.sampled_from(["1", "1.0", "True", "true", "None", "", " ", "=1+1", "'", "''", '"']),
    ),
    min_size=2,
    max_size=6,
    unique_by=lambda option: (type(option), option),
)


def facts(trials: list[Trial]) -> list[Any]:
    return [
        (
            [(type(value), repr(value)) for value in trial.params.values()],
            trial.state,
            trial.value,
            trial.noise_std,
        )
        for trial in trials
    ]


@settings(max_examples=100)
@given(
    names=st.lists(TEXT.filter(bool), min_size=1, max_size=3, unique=True),
    options=OPTIONS,
    value=st.floats(allow_nan=False, allow_infinity=False),
    noise=st.one_of(st.none(), st.floats(min_value=1e-300, max_value=1e300)),
    failed=st.booleans(),
)
def test_a_csv_file_comes_back_identical(
    names: list[str], options: list[Any], value: float, noise: float | None, failed: bool
) -> None:
    space: dict[str, Any] = {name: nr.Choice(options) for name in names}
    space |= {"~n": nr.Int(-(2**53), 2**53), "~x": nr.Float(-1e300, 1e300)}
    study = nr.Study(space, "maximize")
    for index, option in enumerate(options):
        point = dict.fromkeys(names, option) | {"~n": 2**53 - index, "~x": value % 7}
        if failed and index == 0:
            study.enqueue(point)
            study.tell(study.ask(), state="failed")
        else:
            study.add(point, value, noise)
    study.enqueue(dict.fromkeys(names, options[0]) | {"~n": -1, "~x": 0.1 + 0.2})
    written = io.StringIO(newline="")
    study.export(written)
    again = nr.Study(space, "maximize")
    again.import_csv(io.StringIO(written.getvalue(), newline=""))
    assert facts(again.trials) == facts(study.trials)
    for row in csv.reader(io.StringIO(written.getvalue(), newline="")):
        for cell in row:  # no cell is a formula: it is a number, or starts otherwise
            if cell.startswith(("=", "+", "-", "@", "\t", "\r")):
                float(cell)


def test_files_of_people_are_understood_as_before(tmp_path: Path) -> None:
    study = nr.Study({"t": nr.Float(20, 90), "solvent": nr.Choice(["water", "dmf"])}, "maximize")
    (tmp_path / "a.csv").write_text("\ufeffwho; t ; solvent;value\nAda; 30; water ;1.5\n\n")
    study.import_csv(tmp_path / "a.csv")
    assert [(t.params, t.value) for t in study.trials] == [({"t": 30.0, "solvent": "water"}, 1.5)]
    (tmp_path / "b.csv").write_text("t,t,solvent,value\n30,30,water,1\n")
    with pytest.raises(nr.NoRegretError, match="twice"):
        study.import_csv(tmp_path / "b.csv")


@pytest.mark.parametrize(
    "text", ["=HYPERLINK(1)", "-5 °C", "@SUM(A1)", "+1", "'tis cold", "''=x", "'", "plain", "'=1"]
)
def test_remarks_are_no_formulas_and_come_back(text: str) -> None:
    study = nr.Study({"x": nr.Float(0, 1)}, "maximize")
    study.add({"x": 0.5}, 1.0, note=text, attributes={"=cmd": text})
    study.tell(study.ask(), state="failed", reason=text)
    written = io.StringIO(newline="")
    study.export(written)
    header, *rows = csv.reader(io.StringIO(written.getvalue(), newline=""))
    remarks = [row[header.index(name)] for row in rows for name in ("note", "error", "attributes")]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in remarks)
    again = nr.Study({"x": nr.Float(0, 1)}, "maximize")
    again.import_csv(io.StringIO(written.getvalue(), newline=""))
    said = [[(t.note, t.error, t.attributes) for t in each.trials] for each in (study, again)]
    assert said[0] == said[1]
