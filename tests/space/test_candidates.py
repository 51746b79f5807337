"""Lists of designs, however they are given and however long they are."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import SpaceError
from noregret.space import Candidates, candidates
from noregret.space.array import nearest_rows
from noregret.space.candidates import Designs
from tests.components import needed

ROWS: list[dict[str, Any]] = [
    {"t": 20, "c": 0.1, "s": "water", "dry": True},
    {"t": 40, "c": 0.25, "s": "dmf", "dry": False},
    {"t": 60, "c": 1.0, "s": "thf", "dry": True},
    {"t": 20, "c": 0.5, "s": "dmf", "dry": True},
]
BY_NAME = {name: [row[name] for row in ROWS] for name in ROWS[0]}


def as_frame() -> Any:
    return needed("pandas", "frame").DataFrame(ROWS)


def as_structured() -> Any:
    kinds = [("t", "i4"), ("c", "f8"), ("s", "U5"), ("dry", "?")]
    return np.array([tuple(row.values()) for row in ROWS], dtype=kinds)


@pytest.mark.parametrize(
    "given",
    [
        lambda: BY_NAME,
        lambda: {name: np.array(values) for name, values in BY_NAME.items()},
        lambda: {name: np.array(values, dtype=object) for name, values in BY_NAME.items()},
        as_frame,
        as_structured,
    ],
)
def test_a_list_is_the_same_however_it_is_given(given: Any) -> None:
    space, plain = Candidates(given()), Candidates(ROWS)
    assert space == plain
    assert hash(space) == hash(plain)
    assert list(space.rows) == ROWS
    assert [[type(v) for v in row.values()] for row in space.rows] == [[int, float, str, bool]] * 4
    assert space.rows[2] == ROWS[2]
    assert space.rows[1:3] == tuple(ROWS[1:3])
    assert np.array_equal(space.enumeration(), plain.enumeration())
    assert pickle.loads(pickle.dumps(space)) == space


def test_lists_that_differ() -> None:
    space = Candidates(ROWS)
    assert space != Candidates(ROWS[:3])
    assert space != Candidates([*ROWS[:3], {**ROWS[3], "s": "thf"}])
    assert space != Candidates([*ROWS[:3], {**ROWS[3], "c": 0.6}])
    assert Candidates([[1.0, 2.0], [3.0, 4.0]]) != Candidates({"x0": [1.0, 3.0], "x1": [2.0, 4.0]})
    assert space != "a list"


def test_columns_are_encoded_to_the_bit_as_values_are() -> None:
    rng = np.random.default_rng(0)
    mixed = [1, 2.5, 7]  # whole numbers stay whole
    rows = [
        {
            "float": float(rng.normal() * 1e3),
            "int": int(rng.integers(-(2**52), 2**52)),
            "mixed": mixed[i % 3],
            "two": "ab"[i % 2],
            "three": ["x", None, 3][i % 3],
            "one": 5,
        }
        for i in range(200)
    ]
    space = Candidates(rows)
    naive = [
        [v for name, p in space.parameters.items() for v in p.encode(row[name])] for row in rows
    ]
    assert np.array_equal(space.enumeration(), np.array(naive))
    assert list(space.rows) == rows
    assert {type(row["mixed"]) for row in space.rows} == {int, float}
    for row in rows[::17]:
        assert space.decode(space.encode(row)) == row


def test_equal_designs_are_one_and_the_first_stays() -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 5, (500, 3)).astype(float)
    naive = list(dict.fromkeys(map(tuple, table.tolist())))
    assert list(Candidates(table).rows) == naive
    assert Candidates(np.array([0.0, 1.0, -0.0, 1.0])).rows[:] == ((0.0,), (1.0,))


@pytest.mark.parametrize("count", [300, 9000])
def test_the_nearest_design(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "BLOCK", 1000)
    rng = np.random.default_rng(2)
    table, U = rng.random((count, 3)), rng.random((40, 3))
    naive = [int(np.argmin(((table - u) ** 2).sum(axis=1))) for u in U]
    assert nearest_rows(U, table).tolist() == naive
    assert len(nearest_rows(U[:0], table)) == 0
    space = Candidates(table)
    every = space.enumeration()
    np.testing.assert_array_equal(space.snap(every[::50]), every[::50])
    assert space.decode(every[7] + 1e-9).tolist() == list(space.rows[7])  # type: ignore[union-attr]


def test_an_ask_makes_no_design_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    table = rng.random((5000, 4))
    study = nr.Study(Candidates(table), "maximize")
    for row in table[:20]:
        study.add(row, float(row.sum()))
    made: list[Any] = []
    true = Designs.__getitem__

    def noted(self: Designs, index: Any) -> Any:
        made.append(index)
        return true(self, index)

    monkeypatch.setattr(Designs, "__getitem__", noted)
    monkeypatch.setattr(Designs, "__iter__", None)
    trial = study.ask()
    assert len(made) == 1
    assert made[0] == np.flatnonzero((table == trial.params).all(axis=1))[0]


# -- files --


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "t, s ,c\n20,water,1\n40, dmf,2.5\n\n60,thf,3\n")
    wanted = [("t", 20, "water", 1.0), ("t", 40, "dmf", 2.5), ("t", 60, "thf", 3.0)]
    rows = [{"t": t, "s": s, "c": c} for _, t, s, c in wanted]
    assert list(Candidates(path).rows) == rows
    assert Candidates(str(path)) == Candidates(rows)
    assert type(Candidates(path).rows[0]["t"]) is int


@pytest.mark.parametrize("lines", [1, 2, 100])
def test_a_csv_column_is_what_all_its_words_are(
    lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However late the word comes that is no number."""
    monkeypatch.setattr(candidates, "LINES", lines)
    text = "a,b,c,d\n1,1,007,1\n2,2,1,9\n3,2.5,x,2\n4,3,1e3,3\n"
    space = Candidates(write(tmp_path / "a.csv", text))
    assert list(space.rows) == [
        {"a": 1, "b": 1.0, "c": "007", "d": 1},
        {"a": 2, "b": 2.0, "c": "1", "d": 9},
        {"a": 3, "b": 2.5, "c": "x", "d": 2},
        {"a": 4, "b": 3.0, "c": "1e3", "d": 3},
    ]
    assert [type(v) for v in space.rows[0].values()] == [int, float, str, int]


def test_parquet(tmp_path: Path) -> None:
    needed("pyarrow", "frame")
    as_frame().to_parquet(tmp_path / "a.parquet")
    assert Candidates(tmp_path / "a.parquet") == Candidates(ROWS)
    (tmp_path / "b.parquet").write_text("no table")
    with pytest.raises(SpaceError, match=r"cannot read .*b\.parquet"):
        Candidates(tmp_path / "b.parquet")


# -- what cannot be a list --


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "at least one row"),
        ({"a": []}, "at least one row"),
        (np.empty((0, 2)), "at least one row"),
        ({"a": [1.0], "b": [1.0, 2.0]}, "differ in length"),
        ({"a": np.ones((2, 2))}, "one value per design"),
        ({"a": np.array([1.0, np.inf])}, "'a' .*not finite"),
        ({"a": np.array([1.0, 2.0]), "b": ["x", float("nan")]}, "'b' .*not finite"),
        (np.array([[1.0], [np.nan]]), "'x0' .*not finite"),
        ({"a": np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")}, "datetime64"),
        ({"a": [(1, 2), (3, 4)]}, "string, number, bool or None"),
        (Path("absent.csv"), "cannot read absent.csv"),
        (Path("absent.parquet"), "cannot read absent.parquet"),
        ("designs.xls", "end in .csv or .parquet"),
    ],
)
def test_impossible_lists(given: Any, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        Candidates(given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "at least one line of values"),
        ("", "at least one line of values"),
        ("a,b\n1,2\n3\n", "has 1 values"),
        ("a,a\n1,2\n", "twice"),
    ],
)
def test_impossible_files(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match=message):
        Candidates(write(tmp_path / "a.csv", text))


def test_a_column_of_too_many_texts_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "LARGEST", 1000)
    texts = [f"compound {i}" for i in range(100)]
    with pytest.raises(SpaceError, match="leave out 'name'"):
        Candidates({"mass": np.arange(100.0), "name": texts})


def test_a_picture_shows_designs_from_all_of_the_list() -> None:
    space = Candidates(np.arange(1000.0))
    assert space.spread(1000).tolist() == list(range(1000))
    shown = space.spread(10)
    assert len(set(shown.tolist())) == 10
    assert (shown[0], shown[-1]) == (0, 999)
    assert 110 <= np.diff(shown).min() <= np.diff(shown).max() <= 112


def test_a_long_list_is_shown_by_its_size() -> None:
    assert repr(Candidates(np.arange(50.0))) == "<Candidates: 50 designs, columns x0>"
    assert repr(Candidates(np.arange(50.0)).rows) == "<50 designs, columns x0>"
    assert repr(Candidates([[1.0], [2.0]])) == "Candidates(rows=((1.0,), (2.0,)))"
