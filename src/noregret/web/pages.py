"""The pages: plain HTML from templates; scripts only draw charts, send forms and swap what has
changed.
"""

from __future__ import annotations

import gzip
import importlib.util
from functools import cache
from importlib.metadata import version
from pathlib import Path as FilePath
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from noregret import __version__
from noregret.diagnostics import why
from noregret.errors import MissingExtraError, UnknownTrialError
from noregret.space import Candidates, named_params
from noregret.strategies import display_name
from noregret.trials import Trial, corrections
from noregret.web import words
from noregret.web.api import Number, Seen, Studies, StudyName
from noregret.web.keys import key_of
from noregret.web.reading import Snapshot
from noregret.web.security import Access, cookie, is_loopback

ROWS = 25  # trials per page of the table
STATIC = FilePath(__file__).parent / "static"
FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}  # the address names the version

router = APIRouter(include_in_schema=False)
templates = Environment(
    loader=PackageLoader("noregret.web"),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.filters.update(
    number=words.number,
    when=words.when,
    measured=words.measured,
    of=lambda trial, name: getattr(trial, name, None),  # not every version keeps it
)
templates.globals.update(
    key_of=key_of,
    release=__version__,
    plotly=version("plotly"),
    strategy_name=display_name,
    method=words.method,
)
for _template in templates.list_templates():
    templates.get_template(_template)  # compiled before the first visitor comes


def render(request: Request, name: str, status: int = 200, **values: Any) -> HTMLResponse:
    state = request.scope["state"]
    access: Access = request.app.state.access
    text = templates.get_template(name).render(
        csrf=state["csrf"],
        write=access.write,
        logged_in=bool(access.token and state["session"]),
        **values,
    )
    return HTMLResponse(text.encode("utf-8", "replace"), status)


def problem(request: Request, status: int, detail: str) -> Response:
    return render(request, "problem.html", status, code=status, detail=detail)


# -- studies --


@router.get("/")
def studies_page(request: Request, studies: Studies) -> Response:
    return render(request, "studies.html", summaries=studies.summaries())


@router.get("/new")
def new_page(request: Request) -> Response:
    return render(request, "new.html")


def study_values(seen: Snapshot, tab: str) -> dict[str, Any]:
    space = seen.study.space
    return {
        "study": seen.study,
        "seen": seen,
        "key": key_of(seen.study.name),
        "tab": tab,
        "quantity": words.quantity(seen.study),
        "noise": seen.noise,
        "places": words.decimals(seen.noise),
        "blank": False,
        "names": list(space.parameters),
        "point": lambda trial: named_params(space, trial.params),
        "shown": lambda params: words.shown(space, params),
        "conditions": words.conditions(space),
    }


@router.get("/studies/{key}")
async def overview_page(
    request: Request,
    studies: Studies,
    name: StudyName,
    page: Annotated[int, Query(ge=1, le=10**6)] = 1,
) -> Response:
    seen = await run_in_threadpool(studies.snapshot, name)
    # the page asks for a newer one once it is there
    model = request.app.state.models.last(name, seen.study.identity)

    def made() -> Response:
        pages = max(1, -(-len(seen.rows) // ROWS))
        last = len(seen.rows) - (min(page, pages) - 1) * ROWS
        rows = list(reversed(seen.rows[max(0, last - ROWS) : last]))
        recommended = None
        if model and model["recommended"] and model["recommended"]["number"] < len(seen.rows):
            number = first(model["recommended"]["number"], seen.rows)
            recommended = next(trial for trial in seen.trials if trial.number == number)
        return render(
            request,
            "overview.html",
            **study_values(seen, "overview") | {"blank": seen.empty},
            rows=rows,
            page=min(page, pages),
            pages=pages,
            corrected=corrections(seen.rows),
            model=model,
            recommended=recommended,
            listed=isinstance(seen.study.space, Candidates),
            progress_note=words.progress_note(seen.convergence.upper, seen.tally["failed"]),
        )

    return await run_in_threadpool(made)


def first(number: int, rows: list[Trial]) -> int:
    """The trial that a chain of corrections began with."""
    while (corrected := rows[number].corrects) is not None:
        number = corrected
    return number


@router.get("/studies/{key}/trust")
def trust_page(request: Request, seen: Seen) -> Response:
    return render(
        request,
        "trust.html",
        **study_values(seen, "trust")
        | {"blank": all(each is None or each.residual is None for each in seen.made)},
        covered=bool(seen.calibration.predictions),
        settings=words.settings(seen.study.strategy),
    )


@router.get("/studies/{key}/lab")
def laboratory_page(request: Request, seen: Seen) -> Response:
    open_trials = [trial for trial in seen.rows if trial.state == "running"]
    waiting = [trial for trial in seen.rows if trial.state == "waiting"]
    done = [trial for trial in seen.trials if trial.is_finished][-10:]
    return render(
        request,
        "lab.html",
        **study_values(seen, "lab"),
        open_trials=open_trials,
        waiting=waiting,
        done=list(reversed(done)),
    )


@router.get("/studies/{key}/trials/{number}")
def trial_page(request: Request, seen: Seen, number: Number) -> Response:
    if number >= len(seen.rows):
        raise UnknownTrialError(f"study {seen.study.name!r} has no trial {number}")
    row = seen.rows[number]
    at = next((i for i, trial in enumerate(seen.trials) if trial.number == number), None)
    made = None if at is None else seen.made[at]
    return render(
        request,
        "trial.html",
        **study_values(seen, "trial"),
        trial=row,
        made=made,
        corrected_by=corrections(seen.rows).get(number),
        last=len(seen.rows) - 1,
        reason=why(row, made, seen.study.goal),
    )


# -- log-in --


@router.get("/login")
def login_page(request: Request, next: str = "/") -> Response:  # noqa: A002
    return render(request, "login.html", next=_inside(next), wrong=False)


@router.post("/login")
async def log_in(request: Request) -> Response:
    access: Access = request.app.state.access
    form = parse_qs((await request.body())[:10_000].decode("utf-8", "replace"))
    goal = _inside(form.get("next", ["/"])[0])
    if not access.knows(form.get("token", [""])[0]):
        access.throttle.wrong(request.client.host if request.client else "")
        return render(request, "login.html", 401, next=goal, wrong=True)
    answer = RedirectResponse(goal, 303)
    answer.headers["Set-Cookie"] = cookie(
        request.scope["state"]["cookie_name"],
        access.new_session(),
        secure=request.scope["state"]["secure"],
    )
    return answer


@router.post("/logout")
def log_out(request: Request) -> Response:
    answer = Response(status_code=204)
    access: Access = request.app.state.access
    if request.scope["state"]["session"]:
        access.end_session(request.scope["state"]["session"])
    answer.headers["Set-Cookie"] = cookie(
        request.scope["state"]["cookie_name"], "", secure=request.scope["state"]["secure"]
    )
    return answer


def _inside(address: str) -> str:
    """A path of this server and nothing that a browser would read as another one."""
    safe = (
        address.startswith("/")
        and not address.startswith(("//", "/\\"))
        and address.isprintable()
        and address.isascii()
    )
    return address if safe else "/"


# -- files --


@cache
def plotly_file() -> FilePath:
    """Plotly's JavaScript as its Python package ships it; nothing of Plotly's Python is loaded."""
    found = importlib.util.find_spec("plotly")
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError(
            "the page needs Plotly's JavaScript: install it with `pip install noregret[web]`"
        )
    return FilePath(found.submodule_search_locations[0]) / "package_data" / "plotly.min.js"


@cache
def plotly_packed() -> bytes:
    return gzip.compress(plotly_file().read_bytes(), 6)


@router.get("/static/plotly.min.js")
def plotly_script(request: Request) -> Response:
    near = request.client is not None and is_loopback(request.client.host)
    if near or "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(plotly_file(), media_type="text/javascript", headers=FOR_EVER)
    return Response(
        plotly_packed(),
        media_type="text/javascript",
        headers={**FOR_EVER, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"},
    )


router.mount("/static", StaticFiles(directory=STATIC), name="static")
