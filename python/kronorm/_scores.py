"""Scores of participants, in the rows of their covariates."""
from __future__ import annotations

import collections
import json
from typing import Any, Sequence

import numpy as np

from ._covariates import Covariates
from ._library import Handle, lib
from ._memory import copied
from ._native import Native, array_of, texts_of
from ._tables import table

# columns of abnormality.tsv and of metrics.tsv after the first, in their order
PARTICIPANTS = ("in_training", "extreme_z", "extreme_z_p", "deviance", "deviance_p", "deviance_noise",
          "deviance_noise_p", "extrapolation", "extrapolation_pct", "mean_z", "mean_z_p", "n_low", "n_low_p",
          "n_high", "n_high_p", "extreme_z_low", "extreme_z_high", "n_low_fdr", "n_high_fdr", "n_responses", "p_note",
          "site_adapted", "unseen_level", "implausible", "flagged", "label")
RESPONSES = ("R2", "rho", "rho2", "RMSE", "SMSE", "EXPV", "MSLL", "gain", "z2")
MAPS = ("z", "yhat", "ys2_model", "fdr", "ys2")
NOTES = {1.0: "bound", 2.0: "rough", 3.0: "missing"}


def rows_of(ids: Sequence[str], X: Covariates, stay: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """The row of X of each id; None: all rows, in order. `stay` marks the rows with all covariates and a response,
    because the library may have excluded others."""
    if X.ids is not None and list(ids) == X.ids:
        return None
    if X.ids is not None:
        rows = _by_id(ids, X.ids, stay)
    elif all(name.startswith("row-") for name in ids):
        rows = [int(name.rpartition("-")[2]) - 1 for name in ids]
    else:  # only the files have ids: in order
        rows = [int(i) for i in np.flatnonzero(stay)]
    if len(rows) != len(ids):
        raise ValueError(f"results exist for {len(ids)} of {X.n} rows, but which rows of X these are is unknown: add ids to X")
    return None if rows == list(range(X.n)) else np.array(rows, dtype=np.intp)


def _by_id(ids: Sequence[str], own: Sequence[str], stay: np.ndarray[Any, Any]) -> list[int]:
    """Rows of ids that may repeat. Ambiguous rows are an error: the function does not guess."""
    places: dict[str, list[int]] = {}
    for row, name in enumerate(own):
        places.setdefault(name.strip(), []).append(row)
    counts = collections.Counter(ids)
    left = {}
    for name, count in counts.items():
        rows = places[name.strip()]
        rows = rows if len(rows) == count else [row for row in rows if stay[row]]
        if len(rows) != count:
            raise ValueError(f"{count} of the {len(places[name.strip()])} rows of id {name!r} have results, but which ones is "
                             "unknown: exclude rows without a response, or give each row its own id")
        left[name] = iter(rows)
    return [next(left[name]) for name in ids]


def spread(values: np.ndarray[Any, Any], rows: np.ndarray[Any, Any] | None, n: int) -> np.ndarray[Any, Any]:
    """Values of participants in their rows of X; NaN in the other rows."""
    if rows is None:
        return values
    out = np.full((n, *values.shape[1:]), np.nan, dtype=values.dtype)
    out[rows] = values
    return out


def names_of(X: Covariates) -> list[str]:
    """Ids of the rows; without ids, those that the library generates."""
    return list(X.ids) if X.ids is not None else [f"row-{i + 1:04d}" for i in range(X.n)]


def spread_table(read: Any, rows: np.ndarray[Any, Any] | None, X: Covariates) -> Any:
    """A table of participants with the rows and the index of X."""
    columns = {name: np.asarray(read[name]) for name in read if name != "participant_id"}
    if rows is not None:
        columns = {name: spread(c.astype(float) if c.dtype.kind in "iu" else c, rows, X.n) for name, c in columns.items()}
    return table({"participant_id": np.array(names_of(X), dtype=object), **columns}, X.index)


class _Live:
    """Scores in memory of the library, read on request."""

    def __init__(self, handle: Handle, native: Native) -> None:
        self._handle, self._native = handle, native
        self._n = lib.kn_scores_n_participants(handle.pointer)

    def ids(self) -> list[str]:
        return texts_of(lib.kn_scores_ids(self._handle.pointer), self._n) or []

    def map(self, name: str, frozen: bool = True) -> np.ndarray[Any, Any] | None:
        return array_of(self._handle, lib.kn_scores_array(self._handle.pointer, name.encode()), frozen)

    def of_participants(self, name: str) -> np.ndarray[Any, Any] | None:
        found = lib.kn_scores_participants(self._handle.pointer, name.encode())
        return copied(found, self._n) if found else None

    def of_responses(self, name: str) -> np.ndarray[Any, Any] | None:
        found = lib.kn_scores_responses(self._handle.pointer, name.encode())
        return copied(found, lib.kn_scores_n_responses(self._handle.pointer)) if found else None

    def labels(self) -> list[str]:
        return self._native.labels()

    def json(self) -> str:
        return str(lib.kn_scores_json(self._handle.pointer).decode())


class _Kept:
    """A copy of the scores that does not need the library."""

    def __init__(self, live: _Live) -> None:
        self._maps = {name: np.array(found) for name in MAPS if (found := live.map(name)) is not None}
        self._participants = {name: live.of_participants(name) for name in PARTICIPANTS}
        self._responses = {name: live.of_responses(name) for name in (*RESPONSES, "ys2_noise")}
        self._ids, self._labels, self._json = live.ids(), live.labels(), live.json()

    def ids(self) -> list[str]:
        return self._ids

    def map(self, name: str, frozen: bool = True) -> np.ndarray[Any, Any] | None:
        return self._maps.get(name)

    def of_participants(self, name: str) -> np.ndarray[Any, Any] | None:
        return self._participants.get(name)

    def of_responses(self, name: str) -> np.ndarray[Any, Any] | None:
        return self._responses.get(name)

    def labels(self) -> list[str]:
        return self._labels

    def json(self) -> str:
        return self._json


class Scores:
    """Maps of z-scores, statistics of abnormality and accuracy metrics from one pass.

    Rows are those of X. Participants excluded for a missing covariate (``missing="drop"``) have NaN.

    Attributes
    ----------
    z : ndarray of float32, of shape (n_samples, n_outputs)
        z-scores. The other maps that `maps` named are `yhat`, `ys2_model`, `ys2` and `fdr`.
    participants : DataFrame
        The table abnormality.tsv, one row per participant.
    responses : DataFrame
        The table metrics.tsv, one row per response.
    summary : dict
        The content of summary.json.
    ids : list of str
        Ids of the rows.
    """

    def __init__(self, handle: Handle, X: Covariates, native: Native, flat: bool) -> None:
        self._source: _Live | _Kept = _Live(handle, native)
        self._rows = rows_of(self._source.ids(), X, ~X.lacking(native.features()))
        self._n, self._index, self._flat = X.n, X.index, flat
        self.ids: list[str] = names_of(X)

    def __getstate__(self) -> dict[str, Any]:
        """Pickles and copies contain the numbers: memory of the library stays in its process."""
        kept = _Kept(self._source) if isinstance(self._source, _Live) else self._source
        return {**self.__dict__, "_source": kept}

    def map(self, name: str) -> np.ndarray[Any, Any]:
        """A map by its name: z, yhat, ys2_model (model variance), fdr or ys2 (total variance)."""
        return self._map(name)

    def _map(self, name: str, frozen: bool = True) -> np.ndarray[Any, Any]:
        found = self._source.map(name, frozen)
        if found is None:
            raise AttributeError(f"there is no map {name}: add it to maps")
        found = spread(found, self._rows, self._n)
        return found[:, 0] if self._flat else found

    @property
    def z(self) -> np.ndarray[Any, Any]:
        """z-scores, of shape (n_samples, n_outputs)."""
        return self.map("z")

    @property
    def yhat(self) -> np.ndarray[Any, Any]:
        """Predictive mean."""
        return self.map("yhat")

    @property
    def ys2_model(self) -> np.ndarray[Any, Any]:
        """Model variance: the variance of the predictive mean."""
        return self.map("ys2_model")

    @property
    def ys2(self) -> np.ndarray[Any, Any]:
        """Total variance of a response: model variance plus noise variance. z-scores divide by its square root."""
        return self.map("ys2")

    @property
    def fdr(self) -> np.ndarray[Any, Any]:
        """z-scores that are significant in this participant at a false discovery rate of 5%; 0 elsewhere."""
        return self.map("fdr")

    def _column(self, name: str) -> np.ndarray[Any, Any] | None:
        found = self._source.of_participants(name)
        return None if found is None else spread(found, self._rows, self._n)

    @property
    def participants(self) -> Any:
        """The table abnormality.tsv; docs/explanation/interpreting.md describes every column."""
        columns: dict[str, Any] = {"participant_id": np.array(self.ids, dtype=object)}
        for name in PARTICIPANTS:
            values = self._column(name)
            if values is None:
                continue
            columns[name] = values if name != "p_note" else np.array([NOTES.get(v, np.nan) for v in values], dtype=object)
        return table(columns, self._index)

    def of_responses(self, name: str) -> np.ndarray[Any, Any] | None:
        """A column of metrics.tsv, or ys2_noise."""
        return self._source.of_responses(name)

    @property
    def responses(self) -> Any:
        """The table metrics.tsv."""
        return table({"response": np.array(self._source.labels(), dtype=object),
                      **{name: self.of_responses(name) for name in RESPONSES}})

    @property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json: metrics, calibration, AUCs of the cases."""
        found: dict[str, Any] = json.loads(self._source.json())
        return found

    def __repr__(self) -> str:
        return f"<scores of {self._n} participants at {len(self._source.labels())} responses>"
