"""The theory as a PDF: ``python -m docs.making.paper out/theory.pdf``, or ``make theory``.

The page docs/theory.md is set with its formulas and printed by Chromium without a window. The works
that it cites are listed at its end, from theory.bib. The path of the browser may be given in the
variable CHROMIUM.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from markdown import markdown

from docs.making.mathml import formula

DOCS = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SITE = "https://github.com/noregret/noregret/blob/main/docs/"
ENTRY = re.compile(r"^@\w+\{(\w+),\s*(.*)\}\s*$", re.M)
FIELD = re.compile(r"(\w+) = \{((?:[^{}]|\{[^{}]*\})*)\}")
STYLE = """
@page { size: A4; margin: 22mm 20mm; }
body { font: 10pt/1.4 "STIX Two Text", "Latin Modern Roman", "DejaVu Serif", serif; }
h1 { font-size: 18pt; } h2 { font-size: 13pt; margin-top: 1.6em; } h3 { font-size: 11pt; }
h1, h2, h3, .formula { break-after: avoid; break-inside: avoid; }
table { border-collapse: collapse; font-size: 8pt; width: 100%; margin: 1em 0; }
th, td { border-top: .4pt solid #999; padding: .25em .5em; text-align: left; vertical-align: top; }
tr { break-inside: avoid; } td code { overflow-wrap: anywhere; }
code, pre { font: 8.5pt "DejaVu Sans Mono", monospace; } pre { background: #f4f4f4; padding: .6em; }
.formula { margin: .8em 0; overflow: hidden; } .formula math { font-size: 10pt; }
sub, sup { line-height: 0; font-size: .75em; } img { max-width: 100%; }
a { color: inherit; text-decoration: none; } .references p { padding-left: 2em; text-indent: -2em; }
"""


class NoBrowserError(RuntimeError):
    """There is no Chromium to print with."""


@dataclass(frozen=True, slots=True)
class Work:
    """An entry of theory.bib."""

    key: str
    fields: dict[str, str]

    @property
    def families(self) -> list[str]:
        return [name.split(",")[0].strip() for name in self.fields["author"].split(" and ")]

    @property
    def reference(self) -> str:
        get = self.fields.get
        where = get("journal") or f"In {get('booktitle')}"
        volume = f" {get('volume')}" if get("volume") else ""
        number = f"({get('number')})" if get("number") else ""
        pages = f": {get('pages')}" if get("pages") else ""
        names = [", ".join(part.split(", ")) for part in self.fields["author"].split(" and ")]
        text = (
            f"{'; '.join(names)} ({get('year')}). {get('title')}. {where}{volume}{number}{pages}."
        )
        return re.sub(r"[{}]", "", text).replace("--", "–")


def works(text: str) -> list[Work]:
    """The entries of a BibTeX file, one to a line."""
    found = [Work(entry[1], dict(FIELD.findall(entry[2]))) for entry in ENTRY.finditer(text)]
    return sorted(found, key=lambda work: (work.families, work.fields["year"]))


def page(source: str, references: list[Work]) -> str:
    """The page as one HTML document, its links to other pages absolute."""
    linked = re.sub(r"\]\((?!https?:|#|figures/)([\w./-]+\.md)", rf"]({SITE}\1", source)
    fences = {"custom_fences": [{"name": "math", "class": "math", "format": formula}]}
    body = markdown(
        linked,
        extensions=["tables", "attr_list", "toc", "pymdownx.superfences", "docs.making.mathml"],
        extension_configs={"pymdownx.superfences": fences},
    )
    listed = "".join(f"<p>{html.escape(work.reference)}</p>" for work in references)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><base href="{DOCS.as_uri()}/">'
        f"<title>noregret: theory</title><style>{STYLE}</style></head><body>{body}"
        f'<h2>References</h2><div class="references">{listed}</div></body></html>'
    )


def browser() -> str:
    """The path of a Chromium."""
    named = os.environ.get("CHROMIUM")
    for name in [named] if named else BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    raise NoBrowserError(
        "the PDF needs Chromium, and none was found: install it (Debian: apt install chromium), or"
        " name it in the variable CHROMIUM"
    )


def print_pdf(out: Path) -> None:
    program = browser()
    document = page(
        (DOCS / "theory.md").read_text(encoding="utf-8"),
        works((DOCS / "making" / "theory.bib").read_text(encoding="utf-8")),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "theory.html"
        source.write_text(document, encoding="utf-8")
        options = ["--headless", "--disable-gpu", "--no-sandbox", "--no-pdf-header-footer"]
        command = [program, *options, f"--user-data-dir={folder}/profile"]
        command += [f"--print-to-pdf={out.resolve()}", source.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=300)


def main(out: Path) -> None:
    try:
        print_pdf(out)
    except NoBrowserError as error:
        print(f"skipped: {error}")
        return
    print(f"wrote {out}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/theory.pdf"))
