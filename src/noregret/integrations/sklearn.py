"""noregret inside scikit-learn: ``NoRegretSearchCV`` in the place of ``RandomizedSearchCV``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from noregret.errors import ConfigurationError, MissingExtraError, SpaceError, check_count
from noregret.integrations.axes import Axes, Axis, Single, as_is, distributed, listed, tell_finite
from noregret.space import Candidates, Choice, Float, Int, SearchSpace, Space
from noregret.strategies import Strategy
from noregret.study import Study
from noregret.trials import Trial

try:
    from joblib import effective_n_jobs
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state
except ImportError:
    raise MissingExtraError(
        "NoRegretSearchCV needs scikit-learn: install it with `pip install noregret[sklearn]`"
    ) from None

FITTED = (  # what an earlier fit may have left
    *("best_estimator_", "best_index_", "best_score_", "best_params_"),
    *("refit_time_", "scorer_", "cv_results_"),
)


class NoRegretSearchCV(BaseSearchCV):  # type: ignore[misc]
    """A search over an estimator's parameters by cross-validation, with the attributes and options
    of ``RandomizedSearchCV``.

    ``study_`` is the study behind the search.

    Args:
        estimator: The estimator, as ``RandomizedSearchCV`` takes it.
        param_distributions: A dict of lists, scipy.stats distributions and noregret parameters in
            any mixture, or a ``Space`` or ``Candidates``.
        n_iter: The number of points that are evaluated. A space with no more points than that is
            evaluated whole.
        strategy: How points are chosen; None is the default strategy.
        metric: Which of several scores is optimised; None: the one that ``refit`` names.
        batch_size: The number of points evaluated at once; None: as many as keep n_jobs busy.
        scoring: This and all others as ``RandomizedSearchCV`` takes them.

    Raises:
        ConfigurationError: A setting is wrong, or no score is named where there are several.
        SpaceError: A parameter cannot be searched.
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 30,
        strategy: Strategy | None = None,
        metric: str | None = None,
        batch_size: int | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.strategy = strategy
        self.metric = metric
        self.batch_size = batch_size
        self.random_state = random_state
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def __getstate__(self) -> dict[str, Any]:
        # a study in memory is not pickled: what makes an equal one is
        state: dict[str, Any] = dict(super().__getstate__())
        if "study_" in state:
            study, names = state["study_"], ("space", "goal", "strategy", "trials")
            arguments = {name: getattr(study, name) for name in names}
            state["study_"] = arguments | {"seed": study.record().seed}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "study_" in state:
            state = state | {"study_": Study(**state["study_"])}
        super().__setstate__(state)

    def __sklearn_is_fitted__(self) -> bool:
        # what fit sets last: an interrupted search has results, but cannot predict
        return hasattr(self, "scorer_")

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:
        check_count("n_iter", self.n_iter)
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size)
        space, theirs = _search_space(self.param_distributions)
        every = space.enumeration()
        points: Any = every if every is not None and len(every) <= self.n_iter else ()
        count = len(points) or self.n_iter
        seed = int(check_random_state(self.random_state).randint(2**31))
        self.study_ = Study(space, "maximize", self.strategy, seed)
        for u in points:
            self.study_.enqueue(space.decode(u))
        # candidates none of whose fits succeeded: scikit-learn leaves them out of its results
        self._failed: dict[int, dict[str, Any]] = {}
        batch = self.batch_size or math.ceil(effective_n_jobs(self.n_jobs) / self.n_splits_)
        splits, metric, results, error = _Splits(self._checked_cv_orig), self._metric(), None, None
        try:
            for start in range(0, count, batch):
                trials = self.study_.ask(min(batch, count - start))
                candidates = [theirs(trial.params) for trial in trials]
                try:
                    results = evaluate_candidates(candidates, cv=splits)
                except ValueError as raised:
                    if self.error_score == "raise" or "fits failed" not in str(raised):
                        raise
                    error = raised
                    warnings.warn(str(raised), FitFailedWarning, stacklevel=2)
                    numbers = [trial.number for trial in trials]
                    self._failed |= dict(zip(numbers, candidates, strict=True))
                self._tell(trials, results, metric)
            if results is None:
                raise error or ConfigurationError("no candidate was evaluated")
            if self._failed:
                results.update(self._format_results(*self._formatted))
        except BaseException as stopped:
            self._keep(results, metric)
            if isinstance(stopped, KeyboardInterrupt):
                stopped.add_note("Results so far: study_, cv_results_, best_params_, best_score_.")
            raise
        finally:
            self._forget("_failed", "_formatted")

    def _metric(self) -> str:
        chosen = self.metric or (self.refit if isinstance(self.refit, str) else "score")
        if isinstance(self.scoring, (list, tuple, set, Mapping)) and chosen not in self.scoring:
            raise _which_metric(list(self.scoring), chosen)
        return str(chosen)

    def _tell(self, trials: list[Trial], results: dict[str, Any] | None, metric: str) -> None:
        scores: Any = (results or {}).get(f"mean_test_{metric}")
        if results is not None and scores is None:
            names = [key.removeprefix("mean_test_") for key in results if "mean_test_" in key]
            raise _which_metric(names, metric)
        for trial in trials:
            failed = scores is None or trial.number in self._failed
            tell_finite(self.study_, trial, self.error_score if failed else scores[trial.number])

    def _format_results(
        self,
        candidate_params: Sequence[Any],
        n_splits: int,
        out: Sequence[Any],
        more_results: Any = None,
    ) -> dict[str, Any]:
        """scikit-learn's table, with the candidates that it leaves out at their places."""
        self._formatted = candidate_params, n_splits, out, more_results
        params, rows = list(candidate_params), list(out)
        for position, failed in self._failed.items():
            params.insert(position, failed)
            place = position * n_splits
            rows[place:place] = [_failed_row(out[0], self.error_score)] * n_splits
        formatted: dict[str, Any] = super()._format_results(params, n_splits, rows, more_results)
        return formatted

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    def _keep(self, results: dict[str, Any] | None, metric: str) -> None:
        """The results of an interrupted search, and nothing that an earlier fit may have left."""
        self._forget(*FITTED)
        if results is not None and f"mean_test_{metric}" in results:
            self.cv_results_ = results
            self.best_index_ = int(results[f"rank_test_{metric}"].argmin())
            self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
            self.best_params_ = results["params"][self.best_index_]


class _Splits:
    """A splitter that splits once: candidates of different batches are compared on the same folds,
    whatever the splitter's random_state.
    """

    def __init__(self, cv: Any) -> None:
        self._cv, self._splits = cv, None

    def split(self, *data: Any, **params: Any) -> Iterable[Any]:
        if self._splits is None:
            self._splits = list(self._cv.split(*data, **params))  # type: ignore[assignment]
        return self._splits or []


def _which_metric(known: list[str], chosen: str) -> ConfigurationError:
    return ConfigurationError(
        f"the search optimises one score: name one of {known!r} by metric=, got {chosen!r}"
    )


def _failed_row(example: Mapping[str, Any], error_score: float) -> dict[str, Any]:
    """As a fit that failed is recorded in a batch where another one succeeded."""

    def failed(scores: Any) -> Any:
        return dict.fromkeys(scores, error_score) if isinstance(scores, Mapping) else error_score

    scored = [key for key in ("test_scores", "train_scores") if key in example]
    row = {**example, **{key: failed(example[key]) for key in scored}}
    return row | {"fit_time": np.nan, "score_time": np.nan}


def _search_space(given: Any) -> tuple[SearchSpace, Callable[[Any], dict[str, Any]]]:
    """Our space, and the way from its points to the estimator's parameters."""
    if isinstance(given, Candidates) or (isinstance(given, Space) and not given.vector):
        if not isinstance(given.decode(np.zeros(given.dimension)), Mapping):
            raise SpaceError(
                "param_distributions needs named parameters: give the candidates as dicts"
            )
        return given, dict
    if not isinstance(given, Mapping):
        raise SpaceError(
            f"param_distributions is a dict from parameter names to their values, got {given!r}"
        )
    axes = Axes.of(given, _axis)
    return axes.space, axes.theirs


def _axis(spec: Any) -> Axis | Single:
    if isinstance(spec, (Float, Int, Choice)):
        return as_is(spec)
    if hasattr(spec, "ppf") and hasattr(spec, "cdf") and hasattr(spec, "dist"):
        return distributed(spec)
    is_sequence = isinstance(spec, Sequence) and not isinstance(spec, str)
    if (is_sequence or (isinstance(spec, np.ndarray) and spec.ndim == 1)) and len(spec) > 0:
        return listed(spec)
    raise SpaceError(f"give a list, a frozen scipy.stats distribution or a parameter, got {spec!r}")
