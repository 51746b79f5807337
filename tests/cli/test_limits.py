"""Known constraints from the shell."""

import pytest

import noregret as nr
from tests.cli.conftest import Shell

SOLVENTS = "--float water 0 1 --float dmf 0 1 --float ether 0 1"
CREATE = f"create lab {SOLVENTS} --linear 'water + dmf + ether = 1' --goal maximize"


def test_a_mixture_by_hand(shell: Shell) -> None:
    made = shell(CREATE).out
    assert "water + dmf + ether = 1" in made
    for number in range(3):
        asked = shell("ask --json").json
        params = (asked["trials"] if "trials" in asked else [asked["trial"]])[0]["params"]
        assert sum(params.values()) == pytest.approx(1.0)
        shell(f"tell {number} {number}")
    shown = shell("show").out
    assert "constraint   water + dmf + ether = 1" in shown
    assert shell("show --json").json["space"]["constraints"][0]["equals"] == 1.0
    refused = shell.fails("add water=0.5 dmf=0.6 ether=0.1 3")
    assert "breaks the constraint 'water + dmf + ether = 1': the sum is 1.2" in refused
    shell("add water=0.5 dmf=0.4 ether=0.1 3")
    shell.fails("tell 3 1", "trial 3")


def test_what_was_weighed(shell: Shell) -> None:
    shell(CREATE)
    shell("add water=.3333 dmf=.3333 ether=.3333 3")
    refused = shell.fails("add water=0.5 dmf=0.25 ether=0.5 3")
    assert "Scaled to the sum it is water=0.4, dmf=0.2, ether=0.4" in refused
    percent = SOLVENTS.replace("0 1", "0 100")
    shell(f"create loose {percent} --linear 'water+dmf+ether = 100 ± 0.5' --goal maximize")
    assert "water + dmf + ether = 100 ± 0.5" in shell("show --study loose").out
    shell("add --study loose water=50 dmf=40 ether=10.4 3")
    shell.fails("add --study loose water=50 dmf=40 ether=10.6 3")


def test_every_kind_and_derived(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    (shell.folder / "our_rules.py").write_text("def safe(p):\n    return p['water'] < 0.9\n")
    monkeypatch.syspath_prepend(shell.folder)
    shell(
        f"{CREATE} --choice base NaH KOH --int n 1 3 --forbidden 'base=NaH, n=2'"
        " --satisfies our_rules:safe"
    )
    study = nr.Study.open("lab", storage="noregret.db")
    assert isinstance(study.space, nr.Space)
    assert [str(each) for each in study.space.constraints] == [
        "water + dmf + ether = 1",
        "not base=NaH, n=2",
        "satisfies our_rules:safe",
    ]
    assert shell("ask").code == 0
    shell("derive wider --study lab --linear 'water + dmf <= 1'")
    other = nr.Study.open("wider", storage="noregret.db")
    assert [str(each) for each in other.space.constraints] == ["water + dmf <= 1"]
    shell("derive free --study lab --unconstrained")
    assert nr.Study.open("free", storage="noregret.db").space.constraints == ()
    shell("derive same --study lab --float speed 0 1 --past speed=0")
    assert len(nr.Study.open("same", storage="noregret.db").space.constraints) == 3


def test_a_file_holds_them_too(shell: Shell) -> None:
    (shell.folder / "lab.toml").write_text(
        'goal = "maximize"\n[parameters]\n'
        'a = { type = "float", low = 0, high = 1 }\nb = { type = "float", low = 0, high = 1 }\n'
        '[constraints]\nlinear = ["a + b <= 1"]\n'
    )
    assert "a + b <= 1" in shell("create lab --file lab.toml").out
    (shell.folder / "lab.toml").write_text(
        'goal = "maximize"\n[constraints]\nlinear = "a + b <= 1"\n[parameters]\n'
        'a = { type = "float", low = 0, high = 1 }\n'
    )
    shell.fails("create two --file lab.toml", "must be a list of texts")


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--linear 'water + tea <= 1'", "is no input"),
        ("--linear 'water + dmf >= 3'", "the feasible set is empty"),
        ("--forbidden 'water=1'", "may take any number"),
        ("--satisfies nowhere_at_all:f", "cannot be loaded here"),
        ("--satisfies os:remove", "Python's own library"),
    ],
)
def test_what_makes_no_sense_makes_no_study(shell: Shell, flags: str, says: str) -> None:
    shell.fails(f"create lab {SOLVENTS} --goal maximize {flags}", says)
    assert not (shell.folder / "noregret.db").exists()
