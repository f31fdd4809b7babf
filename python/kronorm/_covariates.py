"""Covariates as named columns, from a DataFrame, an array or a dict.

Texts and categories are categorical, numbers are numeric. A column or an index identifies the rows."""
from __future__ import annotations

import collections
import dataclasses
import os
import re
import warnings
from typing import Any, Mapping, Sequence

import numpy as np

from ._read_table import is_blank, is_path, read_columns
from ._session import _outside

# as the library names them, in this order; without case and separators
ID_COLUMNS = ("participantid", "subid", "subjectid", "subjid", "participant", "subject", "eid", "srcsubjectid", "recordid", "id")


def _plain(name: str) -> str:
    return re.sub(r"[\s_.-]", "", name).lower()


def is_id_name(name: str) -> bool:
    """Whether a column with this name contains ids, regardless of case, spaces, _, - and dots."""
    return _plain(name) in ID_COLUMNS


@dataclasses.dataclass
class Covariates:
    """n participants: column names, columns of numbers (float64) or texts (str; None: missing), and ids."""

    n: int
    names: list[str]
    columns: list[np.ndarray[Any, Any]]
    ids: list[str] | None
    index: Any  # of a DataFrame
    all_names: list[str]  # as given, ids too
    named: bool  # False: an array, whose columns are x0, x1, ...
    path: str | None = None  # of the file that they are from

    def numbers(self) -> list[str]:
        return [name for name, c in zip(self.names, self.columns) if c.dtype != object]

    def lacking(self, names: Sequence[str]) -> np.ndarray[Any, Any]:
        """Mask of the rows in which one of these columns is missing."""
        out = np.zeros(self.n, dtype=bool)
        for name, column in zip(self.names, self.columns):
            if name.strip() in names:
                out |= np.array([v is None for v in column]) if column.dtype == object else np.isnan(column)
        return out

    def flagged(self, rows: Any, name: str) -> str | None:
        """COLUMN=VALUE for a selection of rows: a text unchanged; for an array of booleans, a column is added."""
        if rows is None or isinstance(rows, str):
            return rows
        mask = np.asarray(rows)
        if mask.dtype == object and all(isinstance(each, (bool, np.bool_)) for each in mask.flat):  # as of pandas' "boolean"
            mask = mask.astype(bool)
        if shuffled(self.index, getattr(rows, "index", None)):
            raise ValueError(f"{name} has the rows of X in another order: use {name}.loc[X.index]")
        if mask.shape != (self.n,) or mask.dtype.kind not in "biu" or not np.isin(mask, (0, 1)).all():
            raise ValueError(f"{name} is of shape {mask.shape} and dtype {mask.dtype}, expected COLUMN=VALUE or {self.n} booleans")
        self.names.append(f"kronorm {name}")
        self.columns.append(np.array(["yes" if m else "no" for m in mask], dtype=object))
        return f"kronorm {name}=yes"


def shuffled(a: Any, b: Any) -> bool:
    """Whether two tables have the same rows by their indexes, in different order."""
    if not (hasattr(a, "equals") and hasattr(b, "equals")) or len(a) != len(b) or a.equals(b):
        return False
    return list(a) != list(b) and collections.Counter(a) == collections.Counter(b)


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "iloc")


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


_LEVELS = (str, bool, int, float, np.bool_, np.integer, np.floating)


def as_text(value: Any) -> str | None:
    """A level as text for the library; None: missing."""
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return str(value)
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    if not isinstance(value, str):
        raise TypeError(f"argument must be a string or a real number, not '{type(value).__name__}'")
    if "\0" in value:
        raise ValueError(f"{value!r} has a null character, expected text")
    return value


def unmasked(values: Any) -> Any:
    """Masked cells of a masked array become missing."""
    if not isinstance(values, np.ma.MaskedArray) or values.dtype.names:
        return values
    masked: Any = values
    if values.dtype.kind in "biuf":
        kind = np.float32 if values.dtype.itemsize < 4 or values.dtype == np.float32 else np.float64
        return masked.astype(kind).filled(np.nan)
    return masked.astype(object).filled(None) if values.dtype.kind in "OUS" else masked.data


def _levels(values: Any) -> np.ndarray[Any, Any]:
    """Texts; None for values that the library reads as missing."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        told = as_text(value)
        out[i] = None if told is not None and is_blank(told) else told
    return out


def column(values: Any, name: str) -> np.ndarray[Any, Any]:
    """Numbers as float64, everything else as texts."""
    values = unmasked(values)
    dtype = getattr(values, "dtype", None)
    if dtype is None:
        values = np.asarray(values, dtype=object if any(map(is_text, values)) else None)
        dtype = values.dtype
    if dtype.kind in "iuf":
        pandas = hasattr(values, "to_numpy")
        out: np.ndarray[Any, Any] = np.asarray(
            values.to_numpy(dtype=np.float64, na_value=np.nan) if pandas else values, dtype=np.float64)
        return out
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name}")
    if dtype.kind not in "bOUS":
        raise ValueError(f"covariates: column {name} has dtype {dtype}, expected numbers or categories")
    if dtype.kind == "O" and not hasattr(dtype, "categories") and not any(map(is_text, values)):
        told = [v for v in values if not is_missing(v)]
        if told and not all(isinstance(v, (bool, np.bool_)) for v in told):  # numbers, or refused as numpy refuses
            try:
                return np.array([np.nan if is_missing(v) else float(v) for v in values], dtype=np.float64)
            except TypeError as error:
                raise TypeError(f"covariates: column {name}: {error}") from None
            except OverflowError:
                raise ValueError(f"covariates: column {name} has a value too large for dtype('float64')") from None
    if dtype.kind == "S":
        values = [v.decode() for v in values]
    if hasattr(dtype, "categories"):  # by code: values beside a missing one may be of another kind than the categories
        levels = [v if isinstance(v, _LEVELS) else str(v) for v in dtype.categories]  # or intervals, as of pandas.cut
        values = [levels[code] if code >= 0 else None for code in getattr(values, "cat", values).codes]
    return _levels(list(values))


# ---- X as it comes -------------------------------------------------------------------------------------


def _refuse_sparse(X: Any, name: str) -> None:
    if hasattr(X, "tocsr") or hasattr(X, "sparse") and not is_frame(X) and hasattr(X, "nnz"):
        raise TypeError(f"A sparse matrix was passed as {name}, but dense data is required. Use {name}.toarray() to "
                        "convert to a dense numpy array.")


def _check_names(names: Sequence[Any]) -> bool:
    """Whether these are names: scikit-learn treats a DataFrame with other than text names as an array."""
    kinds = {isinstance(name, str) for name in names}
    if len(kinds) > 1:
        raise TypeError("Feature names are only supported if all input features have string names, but your input has "
                        "names of several types. If you want feature names to be stored and validated, you must "
                        "convert them all to strings, by using X.columns = X.columns.astype(str) for example.")
    return kinds == {True}


def _array(X: Any, estimator: str) -> np.ndarray[Any, Any]:
    given = X
    try:
        X = np.asarray(unmasked(given))
    except ValueError:
        X = np.asarray(given, dtype=object)
    if X.dtype.kind in "US" and not hasattr(given, "dtype"):  # of lists: numpy makes texts of the numbers beside texts
        X = np.asarray(given, dtype=object)
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{X}\n")
    if X.ndim < 2:
        kind = "1D" if X.ndim else "scalar"
        raise ValueError(f"Expected 2D array, got {kind} array instead:\narray={X}.\nReshape your data either using "
                         "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains "
                         "a single sample.")
    if X.ndim > 2:
        raise ValueError(f"Found array with dim {X.ndim}. {estimator} expected <= 2.")
    out: np.ndarray[Any, Any] = X
    return out


def _columns(X: Any, estimator: str) -> tuple[int, list[Any], list[Any], Any, bool]:
    """n, names, columns, index, and whether the user chose the names."""
    _refuse_sparse(X, "X")
    if hasattr(X, "to_pandas") and not is_frame(X):
        X = X.to_pandas()
    if is_frame(X):
        names = list(X.columns)
        named = _check_names(names)
        return len(X), names, [X.iloc[:, j] for j in range(len(names))], X.index, named
    if isinstance(X, Mapping):
        bad = [name for name, v in X.items() if not hasattr(v, "__len__") or isinstance(v, (str, bytes))]
        if bad:
            raise ValueError(f"X: column {bad[0]} is {X[bad[0]]!r}, expected one value per participant")
        names, columns = list(X), [v if hasattr(v, "dtype") else list(v) for v in X.values()]
        sizes = {len(c) for c in columns}
        if len(sizes) > 1:
            raise ValueError(f"columns have different lengths: {sorted(sizes)}")
        return sizes.pop() if sizes else 0, names, columns, None, _check_names(names)
    if isinstance(X, np.ndarray) and X.dtype.names:
        return len(X), list(X.dtype.names), [X[name] for name in X.dtype.names], None, True
    X = _array(X, estimator)
    if X.dtype.kind not in "OUSMm":
        X = X.astype(np.float64, copy=False)
    return X.shape[0], list(range(X.shape[1])), [X[:, j] for j in range(X.shape[1])], None, False


def _id_column(names: Sequence[str], asked: str | None) -> int | None:
    if asked is not None:
        return names.index(asked) if asked in names else None
    found = [(ID_COLUMNS.index(_plain(name)), j) for j, name in enumerate(names) if is_id_name(name)]
    return min(found)[1] if found else None


def _is_id(name: Any, asked: str | None) -> bool:
    """Whether an index with this name contains ids."""
    return isinstance(name, str) and (name == asked or (asked is None and is_id_name(name)))


def ids_of_index(index: Any, asked: str | None) -> list[str] | None:
    """Ids from the index of a DataFrame: from an index or level with an id name, or from an index of text."""
    if index is None or not hasattr(index, "dtype"):
        return None
    if getattr(index, "nlevels", 1) > 1:
        found = [name for name in index.names if _is_id(name, asked)]
        return [str(as_text(v) or "") for v in index.get_level_values(found[0])] if found else None
    if _is_id(getattr(index, "name", None), asked) or (index.dtype.kind in "OU" and len(index) > 0 and all(map(is_text, index))):
        return [str(as_text(v) or "") for v in index]
    return None


def covariates(X: Any, *, id: str | None = None, estimator: str = "NormativeModel", names: Sequence[str] | None = None,
               gaps: bool = False, forget: bool = False) -> Covariates:
    """X as columns. `names`: names for the columns of an array, from the model. `gaps`: an array may have NaN.
    `forget`: ignore names, so that columns go by position."""
    if is_path(X):
        path, X = os.fspath(X), read_columns(X, lambda name: is_id_name(name) or name == id)
        return dataclasses.replace(covariates(X, id=id, estimator=estimator, gaps=gaps), path=path)
    n, given, columns, index, named = _columns(X, estimator)
    named = named and not forget
    if not named:
        given = list(names) if names is not None and len(names) == len(given) else [f"x{j}" for j in range(len(given))]
    if n < 1:
        raise ValueError(f"Found array with 0 sample(s) (shape=({n}, {len(given)})) while a minimum of 1 is required.")
    if not given:
        raise ValueError(f"Found array with 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
    at = _id_column(given, id)
    if id is not None and at is None and id not in list(getattr(index, "names", ())):
        raise ValueError(f"X has no column '{id}' (named in id)")
    ids = ids_of_index(index, id) if at is None else [str(as_text(v) or "") for v in columns[at]]
    kept = [j for j in range(len(given)) if j != at]
    out = Covariates(n, [given[j] for j in kept], [column(columns[j], given[j]) for j in kept], ids, index,
                     list(given), named)
    _check_finite(out, gaps)
    return out


def _check_finite(X: Covariates, gaps: bool) -> None:
    """Check the numbers of an array with the messages of scikit-learn; the library checks a DataFrame."""
    for name, values in zip(X.names, X.columns):
        if values.dtype == object:
            continue
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise ValueError(f"Input X contains infinity or a value too large for dtype('float64'): column {name}, row {row}.")
        if not X.named and not gaps and np.isnan(values).any():
            row = int(np.flatnonzero(np.isnan(values))[0])
            raise ValueError(f"Input X contains NaN: column {name}, row {row}. missing=\"drop\" excludes these rows, "
                             "missing=\"mean\" uses the training mean.")


# ---- the same features as in training ------------------------------------------------------------------


def _names(X: Any) -> list[Any] | None:
    """Names of the columns, or None."""
    if is_frame(X):
        return list(X.columns)
    if isinstance(X, Mapping):
        return list(X)
    return list(X.dtype.names) if getattr(getattr(X, "dtype", None), "names", None) else None


def covariates_for(X: Any, model: Any) -> Covariates:
    """X for a fitted model. As in scikit-learn, the features must be those of the fit.

    An array gets the training names by position, as does a DataFrame for a model of arrays. Columns of a file may have
    any order, because the library finds them by name."""
    if is_path(X):
        return covariates(X, id=model.id, estimator=type(model).__name__, gaps=True)
    fitted, estimator = getattr(model, "feature_names_in_", None), type(model).__name__
    names = _names(X)
    named = names is not None and (not is_frame(X) or _check_names(names))
    known = named and fitted is None and set(model._used_features()) <= set(names or ())  # x0, x1, ...: they go by name
    if named and fitted is None and not known:
        warnings.warn(f"X has feature names, but {estimator} was fitted without feature names", UserWarning, stacklevel=_outside())
    if not named and fitted is not None:
        warnings.warn(f"X does not have valid feature names, but {estimator} was fitted with feature names", UserWarning,
                      stacklevel=_outside())
    out = covariates(X, id=model.id, estimator=estimator, names=fitted, gaps=model.missing in ("drop", "mean"),
                     forget=fitted is None and not known)
    check_features(out, fitted, model)
    return out


def check_features(X: Covariates, fitted: Sequence[str] | None, model: Any) -> None:
    """Raise an error unless the features are those of the fit. Further columns are allowed: labels, visits, ids."""
    if not X.named:
        more = fitted is None and not model._ordered and model.use is not None and len(X.all_names) > model.n_features_in_
        if len(X.all_names) != model.n_features_in_ and not more:  # of how many were chosen a file does not tell
            raise ValueError(f"X has {len(X.all_names)} features, but {type(model).__name__} is expecting "
                             f"{model.n_features_in_} features as input.")
        return
    if fitted is None:  # the names of an array's columns, which are all there
        return
    used = model._used_features()
    missing = sorted(f for f in fitted if f not in X.all_names and f.strip() in used)
    extra = sorted(set(X.all_names) - set(fitted))
    common = [f for f in X.all_names if f in fitted]
    if not missing and (not model._ordered or common == [f for f in fitted if f in common]):
        return
    message = "The feature names should match those that were passed during fit.\n"
    for title, names in (("Feature names unseen at fit time:\n", extra if missing else []),
                         ("Feature names seen at fit time, yet now missing:\n", missing)):
        if names:
            message += title + "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")
    if not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)
