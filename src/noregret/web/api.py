"""The JSON API: what is read. Plain functions run in threads, so that they block nobody."""

from __future__ import annotations

import io
import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from noregret.diagnostics import why
from noregret.errors import UnknownStudyError, UnknownTrialError
from noregret.storage import codec
from noregret.web import schemas
from noregret.web.charts import CHARTS
from noregret.web.fitting import SliceQuery
from noregret.web.keys import key_of, name_of
from noregret.web.models import Models
from noregret.web.reading import Library, Snapshot
from noregret.web.schemas import LARGEST_INT, Key, TrialOut, summary_out

PAGE = 1000  # trials per answer
CSV = "text/csv; charset=utf-8"

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Problem, "description": text}
    for status, text in (
        (400, "The body is not what it claims to be"),
        (401, "A token is needed"),
        (403, "Only reading is allowed, or the request came from elsewhere"),
        (404, "There is no such study, trial or chart"),
        (409, "The study does not allow this now"),
        (413, "The body is too large"),
        (422, "A value makes no sense"),
        (503, "The storage does not answer"),
    )
}
router = APIRouter(prefix="/api", responses=PROBLEMS)

ChartName = Literal[
    "convergence",
    "coverage",
    "residuals",
    "lengthscales",
    "scaling",
    "width",
    "information",
    "noise",
]
Number = Annotated[int, Path(ge=0, le=LARGEST_INT)]


def library(request: Request) -> Library:
    return request.app.state.library


def study_name(
    key: Annotated[
        Key,
        Path(
            description=(
                "The study's name; bytes besides letters, digits, '.', '_' and '-' are written ~XX"
            )
        ),
    ],
) -> str:
    name = name_of(key)
    if name is None:
        raise UnknownStudyError(f"{key!r} is no study's key")
    return name


def snapshot(
    name: Annotated[str, Depends(study_name)], studies: Annotated[Library, Depends(library)]
) -> Snapshot:
    return studies.snapshot(name)


Studies = Annotated[Library, Depends(library)]
StudyName = Annotated[str, Depends(study_name)]
Seen = Annotated[Snapshot, Depends(snapshot)]


def answered(
    request: Request, version: str, body: bytes, media_type: str = "application/json"
) -> Response:
    """With its version as ETag: an unchanged study costs the viewer one short exchange."""
    tag = f'"{version}"'
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, media_type=media_type, headers={"ETag": tag})


# -- reading --


@router.get("/studies", response_model=list[schemas.StudyOut])
def list_studies(studies: Studies) -> Any:
    """All studies with their goal, counts, best value and last activity."""
    return [summary_out(summary) for summary in studies.summaries()]


@router.get("/studies/{key}", response_model=schemas.DescriptionOut)
def describe_study(seen: Seen) -> Any:
    """What defines a study, and how many trials it has in which state."""
    study = seen.study
    return {
        "key": key_of(study.name),
        "name": study.name,
        "goal": study.goal,
        "seed": study.seed,
        "version": seen.version,
        "space": codec.described(study.space),
        "constraints": [
            *(str(each) for each in getattr(study.space, "constraints", ())),
            *(str(each) for each in getattr(study.space, "branches", ())),
        ],
        "outcomes": [f"{name} {limit}" for name, limit in study.outcomes.items()],
        "context": list(study.context),
        "strategy": codec.to_json(study.strategy),
        "theorem": study.strategy.theorem,
        "counts": dict(seen.tally),
    }


@router.get("/studies/{key}/version", response_model=schemas.VersionOut)
async def study_version(request: Request, name: StudyName, model: bool = False) -> Any:
    """Changes when the study does: what live pages ask for. model: also look after the model, and
    fit it if it is behind.
    """
    seen = await run_in_threadpool(request.app.state.library.snapshot, name)
    if not model:
        return {"version": seen.version}
    models: Models = request.app.state.models
    answer, fitting = models.look(name, seen.study.identity, seen.version)
    return {
        "version": seen.version,
        "model": None if answer is None else answer["version"],
        "fitting": fitting,
    }


@router.get("/studies/{key}/trials", response_model=list[TrialOut])
def list_trials(
    seen: Seen,
    start: Annotated[int, Query(ge=0, le=LARGEST_INT)] = 0,
    limit: Annotated[int, Query(ge=1, le=PAGE)] = 100,
) -> Any:
    """Trials by number, as rows: a correction is a row of its own."""
    return [TrialOut.of(trial) for trial in seen.rows[start : start + limit]]


@router.get("/studies/{key}/trials/{number}/why", response_model=schemas.ReasonOut)
def explain_trial(seen: Seen, number: Number) -> Any:
    """Why this point was chosen: the mean part and the exploration part of UCB, and whether fit or
    schedule set the lengthscales.
    """
    for trial, made in zip(seen.trials, seen.made, strict=True):
        if trial.number == number:
            reason = why(trial, made, seen.study.goal)
            return {
                "rule": reason.rule,
                "mean": reason.mean,
                "exploration": reason.exploration,
                "active": reason.active,
            }
    raise UnknownTrialError(
        f"study {seen.study.name!r} has no trial {number}, or it is a correction"
    )


@router.get("/studies/{key}/alarms", response_model=list[schemas.AlarmOut])
def list_alarms(seen: Seen) -> Any:
    """What looks wrong, and what to do."""
    return [
        {"kind": alarm.kind, "what": alarm.what, "action": alarm.action, "serious": alarm.serious}
        for alarm in seen.alarms
    ]


@router.get("/studies/{key}/charts/{chart}", response_model=schemas.ChartOut)
def chart_series(request: Request, seen: Seen, chart: ChartName) -> Any:
    """A chart's series, thinned to at most a thousand points, with its description in words."""
    return answered(request, seen.version, seen.bytes_of(chart, lambda s: CHARTS[chart](s).drawn()))


@router.get(
    "/studies/{key}/charts/{chart}/csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}}},
)
def chart_csv(request: Request, seen: Seen, chart: ChartName) -> Any:
    """A chart's series in full."""
    return answered(request, seen.version, CHARTS[chart](seen).csv(), CSV)


@router.get("/studies/{key}/model", response_model=schemas.ModelOut)
async def study_model(request: Request, name: StudyName) -> Any:
    """What needs a fit: the recommended trial and the certificate. Answers at once with the last
    fit there is.
    """
    seen = await run_in_threadpool(request.app.state.library.snapshot, name)
    answer, fitting = request.app.state.models.look(name, seen.study.identity, seen.version)
    return (answer or {"version": None}) | {"fitting": fitting}


@router.get("/studies/{key}/slice", response_model=schemas.SliceOut)
async def study_slice(
    request: Request,
    name: StudyName,
    x: Annotated[str, Query(max_length=1000)],
    y: Annotated[str | None, Query(max_length=1000)] = None,
    through: Annotated[int | None, Query(ge=0, le=LARGEST_INT)] = None,
) -> Any:
    """The model along one input or two, through a trial's point (left out: the recommended one).
    Waits for the fit if there is none yet.
    """
    await run_in_threadpool(request.app.state.library.snapshot, name)
    return Response(
        json.dumps(await request.app.state.models.slice(name, SliceQuery(x, y or None, through))),
        media_type="application/json",
    )


@router.get("/studies/{key}/slices", response_model=schemas.SlicesOut)
async def study_slices(
    request: Request,
    name: StudyName,
    through: Annotated[int | None, Query(ge=0, le=LARGEST_INT)] = None,
) -> Any:
    """The model along every input by itself, as ``slice`` gives it for one."""
    await run_in_threadpool(request.app.state.library.snapshot, name)
    return Response(
        json.dumps(await request.app.state.models.slices(name, through)),
        media_type="application/json",
    )


@router.get(
    "/studies/{key}/export/{form}",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}, "application/json": {}}}},
)
def export_study(seen: Seen, form: Literal["csv", "json"]) -> Any:
    """All trials as a file."""
    file = io.StringIO()
    seen.study.export(file, form)
    headers = {
        "Content-Disposition": f'attachment; filename="{key_of(seen.study.name)[:80]}.{form}"'
    }
    return Response(
        file.getvalue().encode("utf-8", "replace"),
        media_type=CSV if form == "csv" else "application/json",
        headers=headers,
    )
