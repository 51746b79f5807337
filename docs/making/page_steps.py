"""What a person does on the page, as a tutorial prints it in blocks ``steps``: one step a line, and
played in a real browser. Controls are found by what they say, as a person finds them.

    open "/"
    press "New study"
    write "coupling" into "Name"
    choose "choice" for "Kind" in "input 3"
    see "No experiment is under way"
    picture "page-new"
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

STEP = re.compile(
    r'(open|press|write|choose|see|picture) "([^"]*)"(?: (?:into|for) "([^"]*)")?(?: in "([^"]*)")?'
)
PATIENCE = 60.0  # seconds, on a machine with other things to do
FIND = """
const [what, said, place] = arguments;
const text = (e) => (e.getAttribute('aria-label') ?? e.textContent).replace(/\\s+/g, ' ').trim();
const seen = (e) => e.checkVisibility();
let scope = document.querySelector('dialog[open]') ?? document;
const row = /^input (\\d+)$/.exec(place ?? '');
if (row) scope = document.querySelectorAll('.entry')[row[1] - 1];
else if (place) {
  const heading = [...document.querySelectorAll('h1, h2, h3, summary')].filter(seen)
    .find((each) => text(each) === place);
  scope = heading?.closest('article, form, figure, section, details, dialog');
}
if (!scope) return null;
const fit = (found) =>
  found.find((e) => text(e) === said) ?? found.find((e) => text(e).startsWith(said)) ?? null;
if (what === 'press') return fit([...scope.querySelectorAll('button, a, summary, label.inline')]
  .filter(seen));
const label = fit([...scope.querySelectorAll('label')].filter(seen));
return label?.querySelector('input, select, textarea') ?? null;
"""


@dataclass(frozen=True, slots=True)
class Step:
    what: str
    text: str
    where: str | None
    within: str | None

    def __str__(self) -> str:
        return " ".join([self.what, repr(self.text), *filter(None, (self.where, self.within))])


def steps(page: Path) -> list[Step]:
    """All steps of a page, in order; a line that is none is an error."""
    found = []
    for block in re.findall(r"```steps\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for line in filter(None, map(str.strip, block.splitlines())):
            matched = STEP.fullmatch(line)
            if matched is None:
                raise ValueError(f"{page.name}: this is no step: {line}")
            found.append(Step(*matched.groups()))
    return found


def play(
    driver: Any, address: str, listed: list[Step], picture: Callable[[str], None] | None = None
) -> Iterator[Step]:
    """Does each step and yields it; ``picture`` is called with the name of each."""
    for step in listed:
        if step.what == "open":
            driver.get(address + step.text)
        elif step.what == "see":
            _until(partial(_says, driver, step.text), step, driver)
        elif step.what == "picture":
            if picture is not None:
                picture(step.text)
        else:
            said = step.text if step.what == "press" else step.where

            def found(step: Step = step, said: str | None = said) -> Any:
                return driver.execute_script(FIND, step.what, said, step.within)

            element = _until(found, step, driver)
            driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
            if step.what == "press":
                element.click()
            elif step.what == "write":
                element.clear()
                element.send_keys(step.text)
            else:
                driver.execute_script(
                    "const option = [...arguments[0].options].find((o) =>"
                    " o.text === arguments[1]); arguments[0].value = option.value;"
                    " arguments[0].dispatchEvent(new Event('change', {bubbles: true}))",
                    element,
                    step.text,
                )
        yield step


def _says(driver: Any, text: str) -> bool:
    return text in _shown(driver)


def _shown(driver: Any) -> str:
    text: str = driver.execute_script("return document.body.innerText")
    return text.replace("\u2212", "-")


def _until(condition: Callable[[], Any], step: Step, driver: Any) -> Any:
    ends = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > ends:
            raise AssertionError(f"{step}: not on {driver.current_url}\n{_shown(driver)}")
        time.sleep(0.1)
    return found
