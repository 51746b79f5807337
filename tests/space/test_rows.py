import numpy as np
import pytest

from noregret.space import RowIndex, array
from noregret.space.array import hashes

RNG = np.random.default_rng(0)
TABLE = np.unique(RNG.integers(0, 6, (400, 3)) / 5.0, axis=0)
COLLIDING = [True, False]


def collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes so bad that most rows share one."""
    true = array.hashes
    monkeypatch.setattr(array, "hashes", lambda U: true(U) % np.uint64(3))


@pytest.mark.parametrize("colliding", COLLIDING)
def test_a_row_is_found_where_it_stands(colliding: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if colliding:
        collide(monkeypatch)
    asked = np.vstack([TABLE[::-1], TABLE + 0.01, RNG.random((20, 3))])
    naive = [next((i for i, t in enumerate(TABLE) if (t == u).all()), -1) for u in asked]
    assert RowIndex(TABLE).find(asked).tolist() == naive
    assert RowIndex(TABLE[:0]).find(asked[:3]).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("colliding", COLLIDING)
def test_of_equal_rows_the_first_is_kept(colliding: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if colliding:
        collide(monkeypatch)
    table = RNG.integers(0, 4, (300, 3)) / 3.0
    listed = [tuple(row) for row in table]
    assert RowIndex(table).firsts().tolist() == [
        i for i, row in enumerate(listed) if row not in listed[:i]
    ]
    distinct = np.arange(5.0)[:, None]
    assert RowIndex(distinct).firsts().tolist() == [0, 1, 2, 3, 4]


def test_both_zeros_are_one_number() -> None:
    assert hashes(np.array([[0.0, 1.0]])) == hashes(np.array([[-0.0, 1.0]]))
    assert RowIndex(np.array([[0.0, 1.0], [-0.0, 1.0]])).firsts().tolist() == [0]


def test_hashes_do_not_depend_on_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    table = RNG.random((50, 4))
    whole = hashes(table)
    monkeypatch.setattr(array, "BLOCK", 7)
    assert np.array_equal(hashes(table), whole)
    assert len(set(whole.tolist())) == 50
