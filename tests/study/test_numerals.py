"""The one grammar of numbers: what is read, and that everything else is refused whole."""

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import noregret as nr
from noregret.errors import TrialError
from noregret.study.numerals import (
    Decimal,
    Reading,
    decimal_of,
    numbers,
    read,
    read_measured,
    read_number,
    understood,
    units_of,
)

THIN, NARROW, NO_BREAK = "\u2009", "\u202f", "\u00a0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("41", Reading(41)),
        (" 41.5 ", Reading(41.5)),
        ("41,5", Reading(41.5)),
        ("+.5", Reading(0.5)),
        (",5", Reading(0.5)),
        ("5.", Reading(5.0)),
        ("-4", Reading(-4)),
        ("\u22124,5", Reading(-4.5)),
        ("1.500", Reading(1.5)),
        ("0,125", Reading(0.125)),
        ("1'000", Reading(1000)),
        ("1\u2019000", Reading(1000)),
        (f"12{THIN}345{THIN}678,9", Reading(12345678.9)),
        (f"1{NARROW}000", Reading(1000)),
        (f"1{NO_BREAK}000", Reading(1000)),
        ("-1'234.5", Reading(-1234.5)),
        ("1e-3", Reading(0.001)),
        ("2,5E+2", Reading(250.0)),
        ("1e\u22123", Reading(0.001)),
        ("5×10³", Reading(5000.0)),
        ("5 × 10⁻³", Reading(0.005)),
        ("5x10^3", Reading(5000.0)),
        ("5·10^-3 mol", Reading(0.005, None, "mol")),
        ("65.5 °C", Reading(65.5, None, "°C")),
        (f"65,5{NO_BREAK}°C", Reading(65.5, None, "°C")),
        ("41 %", Reading(41, None, "%")),
        ("3µm", Reading(3, None, "µm")),
        ("1eV", Reading(1, None, "eV")),
        ("5 l", Reading(5, None, "l")),
        ("2±0.1", Reading(2, 0.1)),
        ("2 +/- 0,1", Reading(2, 0.1)),
        ("2+-0.1 mg", Reading(2, 0.1, "mg")),
        ("1'000 mg ± 5x10^1 mg", Reading(1000, 50.0, "mg")),
    ],
)
def test_what_is_read(text: str, expected: Reading) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "1/2",
            "5 e3",
            "2–3",
            "2-3",
            "–3",
            "0x10",
            "0xFF",
            "5o",
            "5O",
            "5oo",
            "5 o",
            "5l",
            "1 000",
        ),
        *("1'00", "1'0000", "0'500", f"1'000{THIN}000", "1,234,567", "1.234.567", "1,234.5"),
        *("5×103", "5×10", "5e", "5 e", "12k", "5x", "1_000", "1e5.5", "5,", "--5", "- 5", "1 2"),
        *("5½", "½", "5万", "٣", "²", "5²", "5'", '5"', "5 mg/L", "5 m2", "5 g 3", "12:30"),
        *("~5", "<5", "5!", "(5)", "5;", "5 m*s", "$5", "", "±2", "2±", "2±0.1±0.2", "abc", "="),
        *("nan", "-inf", "Infinity", "1e999", "9" * 400, "9" * 5000, "1,500", "2±1,500"),
        *("41 ± 5 %", "2 mg ± 0.1 g", "1\n2", "5 \u0000"),
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(text)
    if text.strip():
        with pytest.raises(TrialError, match=r"^value must be a number, got ['\"].*: ."):
            read_measured(text, "value")


def test_the_unit_is_the_studys() -> None:
    assert read("41 mg", unit="mg").value == read("41", unit="mg").value == 41
    assert read("3 \u00b5m", unit="\u03bcm").unit == "\u00b5m"  # two code points, one letter
    assert read("5 mg/L ± 1", unit="mg/L") == Reading(5, 1, "mg/L")  # its own may be anything
    assert read("5l", unit="l").value == read("5k", unit="k").value == 5
    assert read("41 ± 5 %", unit="%") == Reading(41, 5, "%")
    for text in ("41 g", "41 Mg", "2 ± 1 g"):
        with pytest.raises(TrialError, match=r"its unit is M?g where mg is meant: write it in mg"):
            read_measured(text, "value", "mg")
    with pytest.raises(ValueError, match=r"write it like"):
        read("510³ cells", unit="10³ cells")
    assert units_of({"unit": "mg", "units": {"t": "°C"}}) == {"t": "°C", None: "mg"}
    assert units_of({"units": ["°C"]}) == {None: ""}


@pytest.mark.parametrize(
    ("cells", "separator", "decimal"),
    [
        (["65,5", "1.500"], ";", ","),
        (["20.25", "1.500"], ";", "."),
        (["1.500", "20"], ";", ","),
        (["65,5", "20.25"], ";", ""),
        (["65,5 °C", "1.234"], "\t", ","),
        (["1.500", "12.03.2026", "a,5"], ",", "."),
        (["1,5e3", None], ",", ","),
    ],
)
def test_the_decimal_sign_of_a_file(cells: list[str], separator: str, decimal: Decimal) -> None:
    assert decimal_of(cells, separator) == decimal
    for sign in ".,":
        if sign == decimal:
            assert read(f"1{sign}500", decimal=decimal).value == 1.5
        else:
            with pytest.raises(ValueError, match=r"may mean 1[.,]5 or 1500: write one of these"):
                read(f"1{sign}500", decimal=decimal)


def test_the_noise_is_told_once_and_only_of_a_value() -> None:
    assert read_measured("2", "value", noise="0,1 g") == (2.0, 0.1, "")
    assert read_measured(None, "value", noise=" ") == (None, None, "")
    with pytest.raises(TrialError, match=r"value has its noise twice, got '2±0.1' and '0.1'"):
        read_measured("2±0.1", "value", noise="0.1")
    with pytest.raises(TrialError, match="the noise of value must be a number, got '1±1'"):
        read_measured("2", "value", noise="1±1")
    with pytest.raises(TrialError, match="the noise of value must be a number, got '1 g'"):
        read_measured("2 mg", "value", noise="1 g")
    with pytest.raises(TrialError, match=r"t must be one number, got '2±0.1': only a measured"):
        read_number("2±0.1", "t")


def test_columns() -> None:
    assert numbers(["20", "1'000"]) == [20, 1000]
    assert isinstance(numbers(["20", "1'000"])[1], int)
    assert numbers(["20 mg", "40,5 mg"]) == [20.0, 40.5]
    for texts in (["20 mg", "40 g"], ["1", "0x10"], ["1±0.1", "2"], ["1,500", "many"]):
        assert numbers(texts) == texts
    with pytest.raises(TrialError, match=r"'1,500' in a column of numbers: it may mean 1.5 or"):
        numbers(["1", "1,500"])


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["", " mg", "%"]))
def test_every_finite_number_comes_back(number: float, unit: str) -> None:
    for text in (repr(number), understood(number)):
        found = read(text + unit).value
        assert found == number
        assert "." not in text or math.copysign(1, found) == math.copysign(1, number)
    text, own = understood(number, 0.1, unit.strip()), unit.strip()
    assert read(text, unit=own) == Reading(number, 0.1, own)


@given(st.text(max_size=12) | st.text("0123456789.,'+-−±×x·*^³eE %µgo \u2009", max_size=12))
def test_no_text_is_read_in_part(text: str) -> None:
    try:
        found = read(text)
    except ValueError:
        return
    assert math.isfinite(found.value)
    assert not any(character.isnumeric() for character in found.unit)


# -- CSV --


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        *((cell, "must be a number") for cell in ("1/2", "5 e3", "2–3", "0x10", "5o", "1_0", "٣")),
        ("41 g", "its unit is g where mg is meant"),
        ("1.500", r"may mean 1,5 or 1500"),
    ],
)
def test_a_file_with_a_number_in_doubt_imports_nothing(cell: str, words: str) -> None:
    study = nr.Study({"t": nr.Float(0, 1e4), "n": nr.Int(0, 10_000)}, "maximize")
    study.annotate(attributes={"unit": "mg", "units": {"t": "mg", "n": "mg"}})
    for row in (f"{cell};1;2,5", f"1,5;{cell};2,5", f"1,5;1;{cell}"):
        rows = f"t;n;value\n1,5;1;2,5\n{row}\n"
        with pytest.raises(TrialError, match=rf"row 2 of the file: .*{words}.*nothing"):
            study.import_csv(io.StringIO(rows))
    assert study.trials == []


def test_a_file_is_read_by_the_grammar() -> None:
    space = {"t": nr.Float(0, 1e4), "n": nr.Int(0, 10_000)}
    study = nr.Study(space, "maximize", outcomes={"tox": nr.AtMost(1)})
    study.annotate(attributes={"unit": "mg", "units": {"t": "°C"}})
    text = "t;n;value;tox\n1'000 °C;5×10³;2,125 ± 0,1 mg;0,3±0,05\n1,500;7;2;0,1\n"
    first, second = study.import_csv(io.StringIO(text))
    assert (first.params, first.value, first.noise_std) == ({"t": 1000.0, "n": 5000}, 2.125, 0.1)
    assert (first.outcomes, first.outcome_noise) == ({"tox": 0.3}, {"tox": 0.05})
    assert (second.params["t"], second.noise_std) == (1.5, None)
    with pytest.raises(TrialError, match="value has its noise twice"):
        study.import_csv(io.StringIO("t,n,value,tox,noise_std\n1,1,2±1,0,1\n"))


def test_one_column_has_one_unit() -> None:
    study = nr.Study([(0, 1)], "maximize")
    with pytest.raises(TrialError, match=r"row 2 .*got '41 g': its unit is g where mg is meant"):
        study.import_csv(io.StringIO("x0,value\n0.1,41 mg\n0.2,41 g\n"))
    assert len(study.import_csv(io.StringIO("x0,value\n0.1,41 mg\n0.2,42\n"))) == 2
