"""What a public project has besides its code, and that the parts agree with each other."""

import re
import tomllib
from pathlib import Path

import pytest

import noregret as nr

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "CODE_OF_CONDUCT.md",
        "SECURITY.md",
        "CITATION.cff",
        "RELEASING.md",
        "VISION.md",
        ".pre-commit-config.yaml",
        ".github/pull_request_template.md",
        ".github/ISSUE_TEMPLATE/bug.yml",
        ".github/ISSUE_TEMPLATE/feature.yml",
    ],
)
def test_it_is_there(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8").strip()


def test_the_changelog_has_this_version_and_room_for_the_next() -> None:
    sections = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.M)
    assert sections[0] == "Unreleased"
    assert re.fullmatch(r"\d+\.\d+\.\d+(?: · .+)?", sections[1])
    assert nr.__version__.removesuffix(".dev0") >= sections[1].split()[0]


def test_the_citation_names_the_last_version_and_the_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.findall(r"^version: (.+)$", text, flags=re.M)
    assert version == re.findall(r"^## (\d\S*)", changelog, flags=re.M)[:1]
    for part in ("Berkenkamp", "Schoellig", "Krause", "Journal of Machine Learning Research"):
        assert part in text


def test_decisions_have_a_number_of_their_own_and_say_so_themselves() -> None:
    """Numbers of replaced decisions are not used again, so there are gaps."""
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    numbers = [page.name[:4] for page in pages]
    assert len(set(numbers)) == len(pages) > 10
    for page in pages:
        assert page.read_text(encoding="utf-8").startswith(f"# {page.name[:4]} ")


def test_every_python_version_that_is_promised_is_tried() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert promised[0] == PROJECT["requires-python"].removeprefix(">=")
    assert re.search(r"\[" + ", ".join(f'"{v}"' for v in promised) + r"\]", WORKFLOW)


def test_the_workflow_calls_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, flags=re.M))
    called = {
        word
        for line in re.findall(r"run: make (.+)$", WORKFLOW, flags=re.M)
        for word in line.split()
        if "=" not in word
    }
    assert {"check", "house", "test", "test-lowest", "dist", "docs"} <= called
    assert called <= targets
    phony = re.search(r"^\.PHONY: (.+)$", makefile, flags=re.M)
    assert phony is not None
    assert set(phony.group(1).split()) == targets


def test_addresses_are_those_of_the_repository() -> None:
    assert {"Repository", "Issues", "Changelog"} <= set(PROJECT["urls"])
    for name in ("Repository", "Issues", "Changelog"):
        assert PROJECT["urls"][name].startswith("https://github.com/noregret/noregret")
