"""Responses as a view that the library reads without a copy: float32 or float64 with any strides."""
from __future__ import annotations

import collections
import dataclasses
from typing import Any, Mapping

import numpy as np

from . import _abi
from ._covariates import _refuse_sparse, as_text, ids_of_index, is_frame, is_id_name, is_text, unmasked

BLOCK = 1 << 22  # cells that are looked at together


@dataclasses.dataclass
class Responses:
    """Values (n x T), names of the responses or None, ids of the rows or None."""

    values: np.ndarray[Any, Any]
    names: list[str] | None
    ids: list[str] | None
    flat: bool  # one response, given as a vector
    index: Any = None  # of a DataFrame or Series

    def named_for(self, known: list[str] | None) -> Responses:
        """The same responses for a model with these names. The names 0, 1, ... of a DataFrame are not names, but they
        define an order."""
        if (known is None) == (self.names is None):
            return self
        places = [str(j) for j in range(self.values.shape[1])]
        if known is None and self.names is not None and self.names != places and sorted(self.names) == sorted(places):
            raise ValueError(f"responses: columns are {', '.join(self.names[:3])}, ..., expected the training order 0, 1, ...")
        if known is not None and self.names is None and self.index is not None and sorted(known) == sorted(places):
            return dataclasses.replace(self, names=places)
        return self

    def view(self) -> Any:
        a = self.values
        return _abi.kn_view(a.ctypes.data, _abi.KN_F32 if a.dtype == np.float32 else _abi.KN_F64, *a.shape,
                            *(stride // a.itemsize for stride in a.strides))


def in_place(a: np.ndarray[Any, Any]) -> bool:
    """Whether the library can read the array without a copy."""
    return (a.dtype in (np.float64, np.float32) and a.dtype.isnative and a.flags.aligned
            and all(stride % a.itemsize == 0 for stride in a.strides))


def numbers(given: Any, name: str = "y") -> np.ndarray[Any, Any]:
    """An array that the library can read, without a copy if possible."""
    dtype = getattr(given, "dtype", None)
    if hasattr(given, "to_numpy") and not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "") in "biuf":
        given = given.to_numpy(dtype=np.float64, na_value=np.nan)  # pandas' own kinds, whose NA numpy does not know
    Y: np.ndarray[Any, Any] = np.asarray(unmasked(given))
    if Y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{Y}\n")
    if in_place(Y):
        return Y
    if Y.dtype.kind not in "biufOV":
        raise ValueError(f"{name}: values of dtype {Y.dtype}, expected numbers")
    if Y.dtype.kind == "O" and any(isinstance(v, (str, bytes)) for v in Y.flat):
        raise ValueError(f"{name}: there is text, expected numbers")
    wanted = np.float32 if Y.dtype in (np.float16, np.float32) else np.float64
    try:
        return np.array(Y, dtype=wanted, order="C")
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
    except OverflowError:
        raise ValueError(f"{name}: a value is too large for dtype('float64')") from None


def _frame(Y: Any, id: str | None) -> tuple[np.ndarray[Any, Any], list[str] | None, list[str] | None]:
    names = list(Y.columns)
    at = [j for j, c in enumerate(names) if isinstance(c, str) and (c == id or is_id_name(c))]
    ids = [str(as_text(v) or "") for v in Y.iloc[:, at[0]]] if at else ids_of_index(Y.index, id)
    if at:
        Y = Y.drop(columns=[names[at[0]]])
        names = list(Y.columns)
    twice = [name for name, count in collections.Counter(map(str, names)).items() if count > 1]
    if twice:
        raise ValueError(f"responses: two columns are named '{twice[0]}'")
    for j, name in enumerate(names):
        if Y.dtypes.iloc[j].kind not in "iufbO":
            raise ValueError(f"responses: column {name} has dtype {Y.dtypes.iloc[j]}, expected numbers")
        if Y.dtypes.iloc[j].kind == "O" and any(map(is_text, Y.iloc[:, j])):
            raise ValueError(f"responses: column {name} has text, expected numbers")
    plain = all(isinstance(dtype, np.dtype) and dtype.kind != "O" for dtype in Y.dtypes)
    values = Y.to_numpy() if plain else Y.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers(values), None if names == list(range(len(names))) else [str(name) for name in names], ids


def responses(Y: Any, *, id: str | None = None, estimator: str = "NormativeModel") -> Responses:
    """Y as values, names and ids."""
    if Y is None:
        raise ValueError(f"This {estimator} estimator requires y to be passed, but the target y is None.")
    _refuse_sparse(Y, "y")
    names: list[str] | None = None
    ids: list[str] | None = None
    if hasattr(Y, "to_pandas") and not is_frame(Y):
        Y = Y.to_pandas()
    index = Y.index if hasattr(Y, "iloc") else None
    if is_frame(Y):
        values, names, ids = _frame(Y, id)
    elif isinstance(Y, Mapping):
        if not Y:
            raise ValueError("y has no columns, expected at least one response")
        names = [str(name) for name in Y]
        values = np.column_stack([numbers(column, name) for name, column in Y.items()])
    elif hasattr(Y, "iloc"):  # a Series
        values, ids = numbers(Y), ids_of_index(Y.index, id)
        names = [Y.name] if isinstance(Y.name, str) else None
    else:
        values = numbers(Y)
    flat = values.ndim == 1
    if values.ndim not in (1, 2):
        raise ValueError(f"y should be a 1d or 2d array, got an array of shape {values.shape} instead.")
    if flat:
        values = values.reshape(-1, 1) if values.flags.c_contiguous else values[:, np.newaxis]
    if values.shape[1] == 0:
        raise ValueError(f"Found array with 0 response(s) (shape={values.shape}) while a minimum of 1 is required.")
    _refuse_infinite(values)
    return Responses(values, names, ids, flat, index)


def _refuse_infinite(values: np.ndarray[Any, Any]) -> None:
    rows = max(1, BLOCK // values.shape[1])
    for first in range(0, values.shape[0], rows):
        block = np.isinf(values[first:first + rows])
        if block.any():
            i, j = np.argwhere(block)[0]
            raise ValueError("Input y contains infinity or a value too large for "
                             f"dtype('{values.dtype}'). Row {first + i}, column {j}.")
