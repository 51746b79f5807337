"""The JSON API: what changes a study. Plain functions run in threads, so that thinking about a next
point blocks nobody.
"""

from __future__ import annotations

import io
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from noregret.errors import NoRegretError, TrialError, UnknownStudyError
from noregret.study import Study, numbers
from noregret.web import schemas
from noregret.web.api import PROBLEMS, Number, Studies, StudyName
from noregret.web.reading import Library
from noregret.web.schemas import (
    AskIn,
    DerivedIn,
    NoteIn,
    NumberOut,
    NumbersIn,
    PointIn,
    StudyIn,
    TellIn,
    TrialOut,
    WithdrawIn,
    summary_out,
)

router = APIRouter(prefix="/api", responses=PROBLEMS)


@router.post("/numbers", response_model=schemas.NumbersOut)
def read_numbers(body: NumbersIn) -> Any:
    """Typed texts as numbers, by the grammar of the shell and of CSV files: the page has no other.
    Changes nothing.
    """
    try:
        columns = [numbers(cells) for cells in body.columns]
    except TrialError as error:
        raise NoRegretError(str(error)) from None
    return {"numbers": [NumberOut.of(typed) for typed in body.texts], "columns": columns}


@router.post("/studies", status_code=201, response_model=schemas.StudyOut)
def create_study(studies: Studies, body: StudyIn) -> Any:
    """A new study."""
    attributes = body.attributes()
    study: Any = Study.create(
        body.name,
        body.made_space(),
        body.goal,
        body.made_strategy(),
        body.seed,
        storage=studies.storage,
        outcomes=body.made_limits(),
        context=body.context,
    )
    if attributes:
        study.annotate(attributes=attributes)
    return _made(studies, body.name)


@router.post("/studies/{key}/derive", status_code=201, response_model=schemas.StudyOut)
def derive_study(studies: Studies, name: StudyName, body: DerivedIn) -> Any:
    """A new study with the trials of this one, which stays as it is."""
    old = studies.study(name)
    made = old.derived(body.name, **body.changes(old))
    attributes = {**old.attributes, **body.attributes()}
    if attributes:
        made.annotate(attributes=attributes)
    return _made(studies, body.name)


def _made(studies: Library, name: str) -> schemas.StudyOut:
    for summary in studies.summaries():
        if summary.name == name:
            return summary_out(summary)
    raise UnknownStudyError(f"study {name!r} was made, and deleted by somebody else at once")


@router.post("/studies/{key}/ask", status_code=201, response_model=list[TrialOut])
def ask(studies: Studies, name: StudyName, body: AskIn) -> Any:
    """The next experiments: waiting ones first, then what the strategy proposes."""
    with studies.lock(name, "ask"):
        study = studies.study(name)
        trials = study.ask(body.count, fixed=body.fixed or None, context=body.context)
    studies.changed(name)
    return [TrialOut.of(trial) for trial in trials]


@router.post("/studies/{key}/trials", status_code=201, response_model=TrialOut)
def add_point(studies: Studies, name: StudyName, body: PointIn) -> Any:
    """A point measured elsewhere, or, without a value, one to be tried next."""
    study = studies.study(name)
    if body.value is None and body.noise_std is not None:
        raise NoRegretError("noise_std belongs to a value: give both, or neither")
    trial = (
        study.enqueue(body.params, **body.remarks())
        if body.value is None and not body.outcomes
        else study.add(
            body.params, body.value, body.noise_std, outcomes=body.outcomes, **body.remarks()
        )
    )
    studies.changed(name)
    return TrialOut.of(trial)


@router.post("/studies/{key}/trials/{number}/tell", response_model=TrialOut)
def tell(studies: Studies, name: StudyName, number: Number, body: TellIn) -> Any:
    """The outcome of an experiment under way."""
    trial = studies.study(name).tell(
        number, body.value, body.noise_std, state=body.state, **body.remarks()
    )
    studies.changed(name)
    return TrialOut.of(trial)


@router.post("/studies/{key}/trials/{number}/correct", status_code=201, response_model=TrialOut)
def correct(studies: Studies, name: StudyName, number: Number, body: TellIn) -> Any:
    """Another outcome for a finished trial, as a new entry: nothing is deleted."""
    trial = studies.study(name).correct(
        number, body.value, body.noise_std, state=body.state, **body.remarks()
    )
    studies.changed(name)
    return TrialOut.of(trial)


@router.post("/studies/{key}/trials/{number}/withdraw", response_model=TrialOut)
def withdraw(studies: Studies, name: StudyName, number: Number, body: WithdrawIn) -> Any:
    """An experiment that is not going to be done as planned: given out again later, or withdrawn
    for good, which is neither a value nor a failure.
    """
    study = studies.study(name)
    if body.then == "later":
        study.reclaim(numbers=[number])
    else:
        study.tell(number, state="withdrawn")
    studies.changed(name)
    return TrialOut.of(study.trials[number])


@router.post("/studies/{key}/trials/{number}/retry", status_code=201, response_model=TrialOut)
def retry(studies: Studies, name: StudyName, number: Number) -> Any:
    """The point of a failed experiment again: a new entry waits in its place."""
    trial = studies.study(name).retry(number)
    studies.changed(name)
    return TrialOut.of(trial)


@router.post("/studies/{key}/annotate", status_code=204)
def annotate_study(studies: Studies, name: StudyName, body: NoteIn) -> None:
    """Words to keep with a study; an empty note is taken away."""
    studies.study(name).annotate(note=body.note)
    studies.changed(name)


@router.post("/studies/{key}/trials/{number}/annotate", status_code=204)
def annotate_trial(studies: Studies, name: StudyName, number: Number, body: NoteIn) -> None:
    """Words to keep with a trial; an empty note is taken away."""
    studies.study(name).annotate(number, note=body.note)
    studies.changed(name)


@router.delete("/studies/{key}", status_code=204)
def delete_study(studies: Studies, name: StudyName) -> None:
    """A study and all its trials, for good."""
    Study.delete(name, storage=studies.storage)
    studies.forget(name)


@router.post(
    "/studies/{key}/import",
    status_code=201,
    response_model=schemas.ImportOut,
    openapi_extra={
        "requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}}
    },
)
async def import_csv(request: Request, name: StudyName) -> Any:
    """Trials from a CSV file with the columns of an exported one: every row or none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "text/csv":
        raise NoRegretError("send the file's text with Content-Type: text/csv")
    try:
        text = (await request.body()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NoRegretError(
            f"the file is not UTF-8 text ({error.reason} at byte {error.start}):"
            " save it as CSV in UTF-8"
        ) from None
    studies: Library = request.app.state.library
    trials = await run_in_threadpool(lambda: studies.study(name).import_csv(io.StringIO(text)))
    studies.changed(name)
    return {"imported": len(trials)}
