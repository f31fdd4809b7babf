"""What a model says of some people, in the order of their covariates."""
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
PEOPLE = ("in_training", "statistic", "probability", "p_upper", "deviance", "deviance_p", "deviance_noise",
          "deviance_noise_p", "extrapolation", "extrapolation_pct", "mean_z", "mean_z_p", "negative", "negative_p",
          "positive", "positive_p", "top_negative", "top_positive", "fdr_negative", "fdr_positive", "n_responses", "p_note",
          "site_adapted", "unseen_level", "implausible", "label")
RESPONSES = ("R2", "rho", "rho2", "RMSE", "SMSE", "EXPV", "MSLL", "z2")
MAPS = ("z", "yhat", "ys2_model", "fdr", "ys2")
NOTES = {1.0: "bound", 2.0: "rough"}


def rows_of(ids: Sequence[str], X: Covariates, stay: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """The row of X of each of these people; None: everybody, in order. `stay`: who has all that the work needs;
    others may have left."""
    if X.ids is not None and list(ids) == X.ids:
        return None
    if X.ids is not None:
        rows = _by_id(ids, X.ids, stay)
    elif all(name.startswith("row-") for name in ids):
        rows = [int(name.rpartition("-")[2]) - 1 for name in ids]
    else:  # ids of files alone: in order
        rows = [int(i) for i in np.flatnonzero(stay)]
    if len(rows) != len(ids):
        raise ValueError(f"{len(ids)} of {X.n} people have results, and which rows of X they are cannot be told: X needs ids")
    return None if rows == list(range(X.n)) else np.array(rows, dtype=np.intp)


def _by_id(ids: Sequence[str], own: Sequence[str], stay: np.ndarray[Any, Any]) -> list[int]:
    """Rows of ids, which may repeat: never a guess at which of a person's visits have left."""
    places: dict[str, list[int]] = {}
    for row, name in enumerate(own):
        places.setdefault(name.strip(), []).append(row)
    told = collections.Counter(ids)
    left = {}
    for name, count in told.items():
        rows = places[name.strip()]
        rows = rows if len(rows) == count else [row for row in rows if stay[row]]
        if len(rows) != count:
            raise ValueError(f"{count} of the {len(places[name.strip()])} rows of id {name!r} have results, and which ones "
                             "cannot be told: leave those without a response out, or give each row an id of its own")
        left[name] = iter(rows)
    return [next(left[name]) for name in ids]


def spread(values: np.ndarray[Any, Any], rows: np.ndarray[Any, Any] | None, n: int) -> np.ndarray[Any, Any]:
    """Values of people at their rows, NaN of those who have none."""
    if rows is None:
        return values
    out = np.full((n, *values.shape[1:]), np.nan, dtype=values.dtype)
    out[rows] = values
    return out


def names_of(X: Covariates) -> list[str]:
    """Ids of rows, made up as the library does where there are none."""
    return list(X.ids) if X.ids is not None else [f"row-{i + 1:04d}" for i in range(X.n)]


def spread_table(read: Any, rows: np.ndarray[Any, Any] | None, X: Covariates) -> Any:
    """A table of people with the rows and the index of X."""
    columns = {name: np.asarray(read[name]) for name in read if name != "participant_id"}
    if rows is not None:
        columns = {name: spread(c.astype(float) if c.dtype.kind in "iu" else c, rows, X.n) for name, c in columns.items()}
    return table({"participant_id": np.array(names_of(X), dtype=object), **columns}, X.index)


class _Live:
    """What the library tells of people, read when it is asked for."""

    def __init__(self, handle: Handle, native: Native) -> None:
        self._handle, self._native = handle, native
        self._n = lib.kn_scores_n_people(handle.pointer)

    def ids(self) -> list[str]:
        return texts_of(lib.kn_scores_ids(self._handle.pointer), self._n) or []

    def map(self, name: str, frozen: bool = True) -> np.ndarray[Any, Any] | None:
        return array_of(self._handle, lib.kn_scores_array(self._handle.pointer, name.encode()), frozen)

    def of_people(self, name: str) -> np.ndarray[Any, Any] | None:
        found = lib.kn_scores_people(self._handle.pointer, name.encode())
        return copied(found, self._n) if found else None

    def of_responses(self, name: str) -> np.ndarray[Any, Any] | None:
        found = lib.kn_scores_responses(self._handle.pointer, name.encode())
        return copied(found, lib.kn_scores_n_responses(self._handle.pointer)) if found else None

    def labels(self) -> list[str]:
        return self._native.labels()

    def json(self) -> str:
        return str(lib.kn_scores_json(self._handle.pointer).decode())


class _Kept:
    """The same without the library."""

    def __init__(self, told: _Live) -> None:
        self._maps = {name: np.array(found) for name in MAPS if (found := told.map(name)) is not None}
        self._people = {name: told.of_people(name) for name in PEOPLE}
        self._responses = {name: told.of_responses(name) for name in (*RESPONSES, "ys2_noise")}
        self._ids, self._labels, self._json = told.ids(), told.labels(), told.json()

    def ids(self) -> list[str]:
        return self._ids

    def map(self, name: str, frozen: bool = True) -> np.ndarray[Any, Any] | None:
        return self._maps.get(name)

    def of_people(self, name: str) -> np.ndarray[Any, Any] | None:
        return self._people.get(name)

    def of_responses(self, name: str) -> np.ndarray[Any, Any] | None:
        return self._responses.get(name)

    def labels(self) -> list[str]:
        return self._labels

    def json(self) -> str:
        return self._json


class Scores:
    """z maps of people, how abnormal each is, and how well the model predicts: all from one pass.

    Rows are those of X. Whoever was left out for want of a covariate (``missing="drop"``) has NaN.

    Attributes
    ----------
    z : ndarray of float32, n_samples x n_outputs
        Deviations in standard normal units. `yhat`, `ys2_model`, `ys2` and `fdr` are there where `maps` named them.
    people : DataFrame
        A row a person, with the columns of ``abnormality.tsv``.
    responses : DataFrame
        A row a response, with the columns of ``metrics.tsv``.
    summary : dict
        What ``summary.json`` has.
    ids : list of str
        Of the rows.
    """

    def __init__(self, handle: Handle, X: Covariates, native: Native, flat: bool) -> None:
        self._told: _Live | _Kept = _Live(handle, native)
        self._rows = rows_of(self._told.ids(), X, ~X.lacking(native.features()))
        self._n, self._index, self._flat = X.n, X.index, flat
        self.ids: list[str] = names_of(X)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled and copied are the numbers: what the library has stays in its process."""
        kept = _Kept(self._told) if isinstance(self._told, _Live) else self._told
        return {**self.__dict__, "_told": kept}

    def map(self, name: str) -> np.ndarray[Any, Any]:
        """A map by its name: z, yhat, ys2_model (variance of yhat), fdr or ys2 (variance of a response)."""
        return self._map(name)

    def _map(self, name: str, frozen: bool = True) -> np.ndarray[Any, Any]:
        found = self._told.map(name, frozen)
        if found is None:
            raise AttributeError(f"{name} is not among the maps that were asked for")
        found = spread(found, self._rows, self._n)
        return found[:, 0] if self._flat else found

    @property
    def z(self) -> np.ndarray[Any, Any]:
        """Deviations in standard normal units, n_samples x n_outputs."""
        return self.map("z")

    @property
    def yhat(self) -> np.ndarray[Any, Any]:
        """What was expected."""
        return self.map("yhat")

    @property
    def ys2_model(self) -> np.ndarray[Any, Any]:
        """Variance of what was expected."""
        return self.map("ys2_model")

    @property
    def ys2(self) -> np.ndarray[Any, Any]:
        """Variance of a person's response around what was expected; z divides by its root."""
        return self.map("ys2")

    @property
    def fdr(self) -> np.ndarray[Any, Any]:
        """z where it stands out in this person at a false discovery rate of 5 %, else 0."""
        return self.map("fdr")

    def _column(self, name: str) -> np.ndarray[Any, Any] | None:
        found = self._told.of_people(name)
        return None if found is None else spread(found, self._rows, self._n)

    @property
    def people(self) -> Any:
        """A row a person, with the columns of ``abnormality.tsv``; docs/people.md says what each means."""
        columns: dict[str, Any] = {"participant_id": np.array(self.ids, dtype=object)}
        for name in PEOPLE:
            values = self._column(name)
            if values is None:
                continue
            columns[name] = values if name != "p_note" else np.array([NOTES.get(v, np.nan) for v in values], dtype=object)
        return table(columns, self._index)

    def of_responses(self, name: str) -> np.ndarray[Any, Any] | None:
        """A number of each response: a column of metrics.tsv, or ys2_noise."""
        return self._told.of_responses(name)

    @property
    def responses(self) -> Any:
        """A row a response, with the columns of ``metrics.tsv``."""
        return table({"response": np.array(self._told.labels(), dtype=object),
                      **{name: self.of_responses(name) for name in RESPONSES}})

    @property
    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` has: metrics, calibration, AUC of those labelled."""
        found: dict[str, Any] = json.loads(self._told.json())
        return found

    def __repr__(self) -> str:
        return f"<scores of {self._n} people at {len(self._told.labels())} responses>"
