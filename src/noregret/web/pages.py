"""The pages: HTML from templates. Scripts only draw charts, send forms and swap what changed."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from noregret import __version__
from noregret.space import Candidates, named_params
from noregret.strategies import display_name, settings_of
from noregret.study import imports_of
from noregret.trials import Trial, corrections, latest, margin
from noregret.web import artifacts, words
from noregret.web.api import Current, Fits, Input, Number, Studies
from noregret.web.library import Snapshot
from noregret.web.schemas import encode_name
from noregret.web.security import LOCAL, SESSION_SECONDS, Access, is_loopback

ROWS = 25  # trials per page of the table
RECENT = 10  # results in the laboratory
STATIC = Path(__file__).parent / "static"
PLOTLY = distribution("plotly")  # its Python package, which is not imported, has the JavaScript
PLOTLY_FILE = Path(str(PLOTLY.locate_file("plotly/package_data/plotly.min.js")))
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
    number=words.format_value, when=words.format_time, measured=words.format_measured
)
templates.globals.update(
    encode_name=encode_name,
    release=__version__,
    plotly=PLOTLY.version,
    strategy_name=display_name,
    method=words.method,
)
for _template in templates.list_templates():
    templates.get_template(_template)  # compile before the first request


def render(request: Request, name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page from its template. A visitor without a session gets one if none needs a token."""
    access: Access = request.app.state.access
    visitor = request.scope["state"]["session"]
    session = visitor or (LOCAL if access.token is None else None)
    text = templates.get_template(name).render(
        csrf=access.csrf(session) if session else "",
        write=access.write,
        logged_in=bool(access.token and session),
        **values,
    )
    response = HTMLResponse(text.encode("utf-8", "replace"), status)
    if session and not visitor:
        _set_cookie(request, response, session)
    return response


def _set_cookie(request: Request, response: Response, session: str) -> None:
    """Set the session's cookie; an empty session deletes it."""
    response.set_cookie(
        request.scope["state"]["cookie_name"],
        session,
        max_age=SESSION_SECONDS if session else 0,
        secure="https" in (request.url.scheme, request.headers.get("x-forwarded-proto")),
        httponly=True,
        samesite="strict",
    )


# -- studies --


@router.get("/")
def studies_page(request: Request, studies: Studies) -> Response:
    return render(request, "studies.html", summaries=studies.storage.summaries())


@router.get("/new")
def new_page(request: Request) -> Response:
    return render(request, "new.html")


def study_page(request: Request, snapshot: Snapshot, tab: str, **values: Any) -> Response:
    """A page of a study, from the template of that name."""
    record = snapshot.record
    shared: dict[str, Any] = {
        "study": record,
        "snapshot": snapshot,
        "key": encode_name(record.name),
        "tab": tab,
        "quantity": words.Quantity.of(record),
        "noise": snapshot.noise,
        "places": words.decimals(snapshot.noise),
        "blank": False,
        "names": list(record.space.parameters),
        "point": lambda trial: named_params(record.space, trial.params),
        "shown": lambda params: words.active_point(record.space, params),
        "conditions": words.conditions(record.space),
    }
    return render(request, f"{tab}.html", **shared | values)


@router.get("/studies/{key}")
def overview_page(
    request: Request,
    snapshot: Current,
    fits: Fits,
    page: Annotated[int, Query(ge=1, le=10**6)] = 1,
    sort: Input = "-number",
    state: Input = "",
) -> Response:
    # the page asks for a newer model by itself
    model = fits.last(snapshot.record.name, snapshot.identity)
    listed = _sorted(snapshot, sort, state)
    pages = max(1, -(-len(listed) // ROWS))
    page = min(page, pages)
    corrected, recommended = corrections(snapshot.rows), None
    number = model.recommended["number"] if model and model.recommended else len(snapshot.rows)
    if number < len(snapshot.rows):  # the model may be that of a longer history
        end = latest(number, corrected)
        recommended = next(t for t in snapshot.trials if latest(t.number, corrected) == end)
    return study_page(
        request,
        snapshot,
        "overview",
        blank=snapshot.empty,
        rows=listed[(page - 1) * ROWS : page * ROWS],
        sort=sort,
        state=state,
        page=page,
        pages=pages,
        corrected=corrected,
        model=model,
        recommended=recommended,
        candidates=isinstance(snapshot.record.space, Candidates),
        outcomes=snapshot.record.outcomes,
        beyond=lambda limit, value: value is not None and margin(limit, value) < 0,
        banded=any(end is not None for end in snapshot.convergence.upper),
    )


def _sorted(snapshot: Snapshot, sort: str, state: str) -> list[Trial]:
    """The trials of a state, or all, by a column's name; "-" in front turns the order around.
    Trials without an entry come last.
    """
    name, space = sort.removeprefix("-"), snapshot.record.space

    def key(trial: Trial) -> Any:
        entries = {"number": trial.number, "value": trial.value}
        entries |= {f"outcome {key}": value for key, value in trial.outcomes.items()}
        entries |= {f"input {key}": at for key, at in named_params(space, trial.params).items()}
        return entries.get(name)

    found = [trial for trial in snapshot.rows if trial.state == (state or trial.state)]
    known = [trial for trial in found if key(trial) is not None]
    if any(isinstance(key(trial), str) for trial in known):
        known.sort(key=lambda trial: str(key(trial)), reverse=sort[:1] == "-")
    else:
        known.sort(key=key, reverse=sort[:1] == "-")
    return known + [trial for trial in found if key(trial) is None]


@router.get("/studies/{key}/trust")
def trust_page(request: Request, snapshot: Current) -> Response:
    strategy, covered = snapshot.record.strategy, bool(snapshot.calibration.predictions)
    settings = {name: getattr(strategy, name) for name in settings_of(type(strategy))}
    blank = not snapshot.checked
    return study_page(request, snapshot, "trust", blank=blank, covered=covered, settings=settings)


def _results(snapshot: Snapshot) -> list[Trial]:
    """What counts now of each experiment, under the experiment's own number."""
    replaced = corrections(snapshot.rows)
    own = [trial.number for trial in snapshot.rows if trial.corrects is None]
    return [replace(snapshot.rows[latest(number, replaced)], number=number) for number in own]


@router.get("/studies/{key}/lab")
def laboratory_page(request: Request, snapshot: Current) -> Response:
    return study_page(
        request,
        snapshot,
        "lab",
        open_trials=[trial for trial in snapshot.rows if trial.state == "running"],
        waiting=[trial for trial in snapshot.rows if trial.state == "waiting"],
        imports=list(imports_of(snapshot.rows).items())[-RECENT:],
        done=[trial for trial in _results(snapshot) if trial.is_finished][: -RECENT - 1 : -1],
    )


@router.get("/studies/{key}/trials/{number}")
def trial_page(request: Request, snapshot: Current, studies: Studies, number: Number) -> Response:
    return study_page(
        request,
        snapshot,
        "trial",
        trial=snapshot.trial(number),
        prediction=snapshot.prediction(number),
        corrected_by=corrections(snapshot.rows).get(number),
        last=len(snapshot.rows) - 1,
        files=artifacts.files_of(studies.storage.url, snapshot.record, number),
        reason=snapshot.reason(number),
    )


# -- log-in --


@router.get("/login")
def login_page(request: Request, next: str = "/") -> Response:  # noqa: A002
    return render(request, "login.html", next=_inside(next), wrong=False)


@router.post("/login")
async def log_in(request: Request) -> Response:
    access: Access = request.app.state.access
    form = parse_qs((await request.body()).decode("utf-8", "replace"))
    address = _inside(form.get("next", ["/"])[0])
    if not access.knows(form.get("token", [""])[0]):
        access.throttle.wrong(request.client.host if request.client else "")
        return render(request, "login.html", 401, next=address, wrong=True)
    response = RedirectResponse(address, 303)
    _set_cookie(request, response, access.new_session())
    return response


@router.post("/logout")
async def log_out(request: Request) -> Response:
    access: Access = request.app.state.access
    access.end_session(request.scope["state"]["session"])
    response = Response(status_code=204)
    _set_cookie(request, response, "")
    return response


def _inside(address: str) -> str:
    """The address if it is a path of this server; a browser must not read it as another server."""
    return address if re.fullmatch(r"/(?![/\\])[ -~]*|/", address) else "/"


# -- files --


@cache
def plotly_packed() -> bytes:
    """Plotly's JavaScript, compressed."""
    return gzip.compress(PLOTLY_FILE.read_bytes(), 6)


@router.get("/static/plotly.min.js")
def plotly_script(request: Request) -> Response:
    near = request.client is not None and is_loopback(request.client.host)
    if near or "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(PLOTLY_FILE, media_type="text/javascript", headers=FOR_EVER)
    headers = {**FOR_EVER, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(plotly_packed(), media_type="text/javascript", headers=headers)


router.mount("/static", StaticFiles(directory=STATIC), name="static")
