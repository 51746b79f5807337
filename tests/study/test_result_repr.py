"""What a notebook shows of a value is one line that a person reads."""

import noregret as nr


def test_values_are_short_in_a_notebook() -> None:
    study = nr.minimize(lambda p: float(p["x"]), {"x": nr.Float(0, 1), "n": nr.Int(1, 3)}, trials=6)
    assert repr(study.space.parameters["x"]) == "Float(low=0.0, high=1.0)"
    assert repr(nr.Float(1, 2, log=True)) == "Float(low=1.0, high=2.0, log=True)"
    for value in (study, study.space, study.best, study.best.why, study.result()):
        text = repr(value)
        assert "\n" not in text
        assert len(text) < 200, text
