"""The JSON API. Plain functions run in threads: none of them blocks the event loop."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Body, Depends, Path, Query, Request, Response
from starlette.responses import JSONResponse

from noregret.diagnostics import Alarm, Reason
from noregret.errors import (
    KnownRowsError,
    NoRegretError,
    TrialError,
    UnknownStudyError,
    UnknownTrialError,
)
from noregret.storage import codec
from noregret.study import IMPORT, Study, import_label, numbers, take_back
from noregret.web import artifacts, schemas
from noregret.web.charts import CHARTS, ChartName
from noregret.web.fitting import Fitter, Models, Summary
from noregret.web.library import Library, Snapshot
from noregret.web.schemas import (
    LARGEST_INT,
    Key,
    NumberOut,
    StudyOut,
    TrialOut,
    decode_key,
    encode_name,
)

PAGE = 1000  # largest number of trials in a response
CSV = "text/csv; charset=utf-8"
CSV_FILE: dict[int | str, Any] = {200: {"content": {"text/csv": {}}}}
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MEDIA = {"csv": CSV, "json": "application/json", "xlsx": XLSX}
EXPORTED_FILE: dict[int | str, Any] = {200: {"content": {kind: {} for kind in MEDIA.values()}}}

ERRORS = {
    400: "The body is not valid JSON",
    401: "A token is needed",
    403: "The server is read-only, or the request came from another site",
    404: "There is no such study, trial or chart",
    409: "The study does not allow this now",
    413: "The body is too large",
    422: "A value is invalid",
    503: "The storage does not answer",
}
router = APIRouter(
    prefix="/api",
    responses={s: {"model": schemas.ErrorOut, "description": text} for s, text in ERRORS.items()},
)


def library(request: Request) -> Library:
    return request.app.state.library


def models(request: Request) -> Models:
    return request.app.state.models


def study_name(
    key: Annotated[
        Key, Path(description="The study's name; other bytes than A-Z a-z 0-9 . _ - as ~XX")
    ],
) -> str:
    name = decode_key(key)
    if name is None:
        raise UnknownStudyError(f"{key!r} is not a study's key")
    return name


Number = Annotated[int, Path(ge=0, le=LARGEST_INT)]
Through = Annotated[int | None, Query(ge=0, le=LARGEST_INT)]
Input = Annotated[str, Query(max_length=1000)]
Studies = Annotated[Library, Depends(library)]
Fits = Annotated[Models, Depends(models)]
StudyName = Annotated[str, Depends(study_name)]


def read_snapshot(name: StudyName, studies: Studies) -> Snapshot:
    return studies.snapshot(name)


def changing(name: StudyName, studies: Studies) -> Iterator[Study]:
    with studies.changing(name) as study:
        yield study


Current = Annotated[Snapshot, Depends(read_snapshot)]
# scope="function": the old snapshot is dropped before the response is sent
Changing = Annotated[Study, Depends(changing, scope="function")]


def tagged(
    request: Request, version: str, body: bytes, media_type: str = "application/json"
) -> Response:
    """The body with its version as ETag, or 304 if the viewer has that version."""
    tag = f'"{version}"'
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, media_type=media_type, headers={"ETag": tag})


# -- reading --


@router.get("/studies", response_model=list[StudyOut])
def list_studies(studies: Studies) -> Any:
    """All studies with their goal, counts, best value and last activity."""
    return [StudyOut.of(summary) for summary in studies.storage.summaries()]


@router.get("/studies/{key}", response_model=schemas.DescriptionOut)
def describe_study(snapshot: Current) -> Any:
    """What defines a study, and its number of trials by state."""
    record = snapshot.record
    return {
        "key": encode_name(record.name),
        "name": record.name,
        "attributes": dict(record.attributes),
        "goal": record.goal,
        "seed": record.seed,
        "version": snapshot.version,
        "space": codec.described(record.space),
        "constraints": [str(rule) for rule in (*record.space.constraints, *record.space.branches)],
        "outcomes": [f"{name} {limit}" for name, limit in record.outcomes.items()],
        "context": list(record.context),
        "strategy": codec.to_json(record.strategy),
        "theorem": record.strategy.theorem,
        "counts": dict(snapshot.tally),
    }


@router.get("/studies/{key}/version", response_model=schemas.VersionOut)
async def study_version(snapshot: Current, fits: Fits, model: bool = False) -> Any:
    """A text that changes when the study does: live pages poll it. With ``model`` also the version
    of the fitted model, which is fitted again if it is behind.
    """
    if not model:
        return {"version": snapshot.version}
    summary = fits.look(snapshot.record.name, snapshot.identity, snapshot.version)
    return {"version": snapshot.version, "model": summary.version, "fitting": summary.fitting}


@router.get("/studies/{key}/trials", response_model=list[TrialOut])
def list_trials(
    snapshot: Current,
    start: Annotated[int, Query(ge=0, le=LARGEST_INT)] = 0,
    limit: Annotated[int, Query(ge=1, le=PAGE)] = 100,
) -> Any:
    """Trials by number. A correction is a trial with a number of its own."""
    return [trial.to_json() for trial in snapshot.rows[start : start + limit]]


@router.get("/studies/{key}/trials/{number}/why", response_model=Reason)
def explain_trial(snapshot: Current, number: Number) -> Any:
    """Why this point was chosen: the mean part and the exploration part of UCB, and whether the fit
    or the schedule set the lengthscales.
    """
    return snapshot.reason(number)


@router.get("/studies/{key}/alarms", response_model=list[Alarm])
def list_alarms(snapshot: Current) -> Any:
    """What looks wrong, and what to do."""
    return snapshot.alarms


@router.get("/studies/{key}/charts/{chart}", response_model=schemas.ChartOut)
def chart_series(request: Request, snapshot: Current, chart: ChartName) -> Any:
    """A chart's series, thinned to at most a thousand points, with its description in words."""
    return tagged(request, snapshot.version, CHARTS[chart](snapshot).to_json())


@router.get("/studies/{key}/charts/{chart}/csv", response_class=Response, responses=CSV_FILE)
def chart_csv(request: Request, snapshot: Current, chart: ChartName) -> Any:
    """A chart's series in full."""
    return tagged(request, snapshot.version, CHARTS[chart](snapshot).to_csv(), CSV)


@router.get("/studies/{key}/model", response_model=Summary)
async def study_model(snapshot: Current, fits: Fits) -> Any:
    """The recommended trial and the certificate, by the last fit. Answers at once, also while a
    newer fit is being computed.
    """
    return fits.look(snapshot.record.name, snapshot.identity, snapshot.version)


@router.get("/studies/{key}/slice", response_model=schemas.SliceOut)
async def study_slice(
    snapshot: Current, fits: Fits, x: Input, y: Input | None = None, through: Through = None
) -> Any:
    """The model along one parameter or two, through a trial's point (by default the recommended
    one). Waits for the first fit.
    """
    return JSONResponse(await fits.call(Fitter.slice, snapshot.record.name, x, y or None, through))


@router.get("/studies/{key}/slices", response_model=schemas.SlicesOut)
async def study_slices(snapshot: Current, fits: Fits, through: Through = None) -> Any:
    """The model along every parameter, each as ``slice`` gives it."""
    return JSONResponse(await fits.call(Fitter.slices, snapshot.record.name, through))


@router.get("/studies/{key}/export/{form}", response_class=Response, responses=EXPORTED_FILE)
def export_study(snapshot: Current, form: Literal["csv", "json", "xlsx"]) -> Any:
    """All trials as a file."""
    file: Any = io.BytesIO() if form == "xlsx" else io.StringIO()
    snapshot.study.export(file, form)
    name, content = f"{encode_name(snapshot.record.name)[:80]}.{form}", file.getvalue()
    return Response(
        content if isinstance(content, bytes) else content.encode("utf-8", "replace"),
        media_type=MEDIA[form],
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


# -- writing --


@router.post("/numbers", response_model=schemas.NumbersOut)
def read_numbers(body: schemas.NumbersIn) -> Any:
    """Read typed texts as numbers, by the grammar of the shell and of CSV files."""
    try:
        columns = [numbers(cells) for cells in body.columns]
    except TrialError as error:
        raise NoRegretError(str(error)) from None
    return {"numbers": [NumberOut.of(typed) for typed in body.texts], "columns": columns}


@router.post("/studies", status_code=201, response_model=StudyOut)
def create_study(studies: Studies, body: schemas.StudyIn) -> Any:
    """Create a study."""
    study = Study.create(body.name, body.to_space(), storage=studies.storage, **body.settings())
    return _created(studies, study, body.attributes())


@router.post("/studies/{key}/derive", status_code=201, response_model=StudyOut)
def derive_study(studies: Studies, name: StudyName, body: schemas.DerivedIn) -> Any:
    """Create a study with the trials of this one, which is not changed."""
    old = studies.study(name)
    study = old.derived(body.name, **body.changes(old))
    return _created(studies, study, {**old.record().attributes, **body.attributes()})


def _created(studies: Library, study: Study, attributes: dict[str, Any]) -> StudyOut:
    if attributes:
        study.annotate(attributes=attributes)
    for summary in studies.storage.summaries():
        if summary.name == study.name:
            return StudyOut.of(summary)
    raise UnknownStudyError(f"study {study.name!r} was deleted by another process at once")


@router.post("/studies/{key}/ask", status_code=201, response_model=list[TrialOut])
def ask_trials(study: Changing, studies: Studies, body: schemas.AskIn) -> Any:
    """Hand out the next experiments: waiting ones first, then new proposals."""
    with studies.lock(study.name, "ask"):
        trials = study.ask(body.count, fixed=body.fixed or None, context=body.context)
    return [trial.to_json() for trial in trials]


@router.post("/studies/{key}/trials", status_code=201, response_model=TrialOut)
def add_point(study: Changing, body: schemas.PointIn) -> Any:
    """Add a point measured elsewhere or, without a value, queue a point."""
    if body.value is None and body.noise_std is not None:
        raise NoRegretError("noise_std needs a value: give both, or neither")
    if body.value is None and not body.outcomes:
        return study.enqueue(body.params, note=body.note).to_json()
    return study.add(**body.model_dump()).to_json()


@router.post("/studies/{key}/trials/{number}/tell", response_model=TrialOut)
def tell_trial(study: Changing, number: Number, body: schemas.TellIn) -> Any:
    """Record the result of a running experiment."""
    return study.tell(number, **body.model_dump()).to_json()


@router.post("/studies/{key}/trials/{number}/correct", status_code=201, response_model=TrialOut)
def correct_trial(study: Changing, number: Number, body: schemas.CorrectIn) -> Any:
    """Correct a finished trial by a new one; nothing is deleted."""
    return study.correct(number, **body.model_dump()).to_json()


@router.post("/studies/{key}/trials/{number}/withdraw", response_model=TrialOut)
def withdraw(study: Changing, number: Number, body: schemas.WithdrawIn) -> Any:
    """Return a running experiment to the queue, or withdraw it for good, which is neither a value
    nor a failure.
    """
    if body.then == "never":
        return study.tell(number, state="withdrawn").to_json()
    study.reclaim(numbers=[number])
    return study.trials[number].to_json()


@router.post("/studies/{key}/trials/{number}/retry", status_code=201, response_model=TrialOut)
def retry_trial(study: Changing, number: Number) -> Any:
    """Queue the point of a failed experiment again, as a new trial."""
    return study.retry(number).to_json()


@router.post("/studies/{key}/annotate", status_code=204)
def annotate_study(study: Changing, body: schemas.NoteIn) -> None:
    """Set a study's note; an empty one removes it."""
    study.annotate(note=body.note)


@router.post("/studies/{key}/trials/{number}/annotate", status_code=204)
def annotate_trial(study: Changing, number: Number, body: schemas.NoteIn) -> None:
    """Set a trial's note; an empty one removes it."""
    study.annotate(number, note=body.note)


FileName = Annotated[str, Path(max_length=200)]


@router.get("/studies/{key}/trials/{number}/files/{file}", response_class=Response)
def read_file(snapshot: Current, studies: Studies, number: Number, file: FileName) -> Any:
    """A file of a trial: a PNG or JPEG as an image, anything else to be saved."""
    path = artifacts.path_of(studies.storage.url, snapshot.record, number, file)
    if not path.is_file():
        raise UnknownTrialError(f"trial {number} has no file {file!r}")
    content = path.read_bytes()
    image = next((k for first, k in artifacts.IMAGES.items() if content.startswith(first)), None)
    place = "inline" if image else "attachment"
    headers = {"Content-Disposition": f"{place}; filename*=UTF-8''{quote(file, safe='')}"}
    return Response(content, media_type=image or "application/octet-stream", headers=headers)


@router.put("/studies/{key}/trials/{number}/files/{file}", status_code=204)
def attach_file(
    snapshot: Current,
    studies: Studies,
    number: Number,
    file: FileName,
    data: Annotated[bytes, Body(media_type="application/octet-stream")],
) -> None:
    """Keep a file with a trial; one of the same name is replaced."""
    snapshot.trial(number)
    artifacts.attach(studies.storage.url, snapshot.record, number, file, data)


@router.delete("/studies/{key}/trials/{number}/files/{file}", status_code=204)
def remove_file(snapshot: Current, studies: Studies, number: Number, file: FileName) -> None:
    """Remove a file of a trial for good."""
    path = artifacts.path_of(studies.storage.url, snapshot.record, number, file)
    path.unlink(missing_ok=True)


@router.delete("/studies/{key}", status_code=204)
def remove_study(studies: Studies, name: StudyName) -> None:
    """Delete a study with all its trials and their files."""
    record = studies.storage.open(name)
    studies.storage.delete(name)
    artifacts.forget(studies.storage.url, record)
    studies.forget(name)


@router.post("/studies/{key}/import", status_code=201, response_model=schemas.ImportOut)
def import_csv(
    study: Changing,
    data: Annotated[bytes, Body(media_type="text/csv")],
    known: Literal["refuse", "skip", "add"] = "refuse",
    file: Annotated[str, Query(max_length=200)] = "a file",
) -> Any:
    """Import trials from a CSV file or a spreadsheet with the columns of an exported one: every row
    or none. Rows that the study has already are refused, skipped or added again.
    """
    try:
        packed = data.startswith(b"PK")
        source: Any = io.BytesIO(data) if packed else io.StringIO(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise NoRegretError(
            f"the file is not UTF-8 text ({error.reason} at byte {error.start}):"
            " save it as CSV in UTF-8"
        ) from None
    label = import_label(file)
    try:
        trials = study.import_csv(source, known=known, label=label)
    except KnownRowsError as error:
        advice = "import the others, or all of them again"
        raise KnownRowsError(error.known, error.rows, advice) from None
    others = sorted({name for trial in trials for name in trial.attributes} - {IMPORT})
    return {"imported": len(trials), "attributes": others, "label": label}


@router.post("/studies/{key}/take-back", response_model=list[TrialOut])
def take_back_import(study: Changing, body: schemas.TakeBackIn) -> Any:
    """Withdraw everything that an import recorded; the entries stay on record."""
    return [trial.to_json() for trial in take_back(study, body.label)]
