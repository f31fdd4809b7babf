"""Conversion between parameters of a model and options of the library."""
from __future__ import annotations

import contextlib
import fnmatch
import inspect
import pathlib
from typing import Any

import numpy as np

from . import _abi
from ._covariates import Covariates
from ._temporary import temporary_folder
from ._session import option_keys, option_table, text

# options of "fit" that are not parameters: files, and the choice of their rows and columns
NOT_IN_MEMORY = ("covariates", "responses", "where", "session", "match", "na", "targets", "mask", "output", "force",
                 "measure", "atlas", "suffix", "space", "desc", "entities", "dry_run")
# parameters that belong to the session, or are used before the library reads the data
OWN = ("id", "threads", "memory", "progress")
COLUMNS = ("use", "categorical", "numeric", "batch", "smooth", "group")
WORDS_OF_USE = ("usual", "all")
KERNELS = ("sample_kernel", "task_kernel")


def default(row: dict[str, Any]) -> Any:
    """The default of an option as a Python value; None if there is none."""
    told = row["preferred"]
    return None if told is None else python(row, told)


def python(row: dict[str, Any], told: str) -> Any:
    """Convert a text of the library to a Python value."""
    if row["type"] == _abi.KN_OPTION_FLAG:
        return told == "yes"
    for kind, reads in ((_abi.KN_OPTION_INT, int), (_abi.KN_OPTION_NUMBER, float)):
        if row["type"] == kind:
            with contextlib.suppress(ValueError):
                number: Any = reads(told)
                return number
    return told


def from_info(options: dict[str, Any], names: Any) -> dict[str, Any]:
    """Parameters that are stored in a model file."""
    rows = {row["key"]: row for row in option_table("fit")}
    return {key: python(rows[key], value) if isinstance(value, str) else value
            for key, value in options.items() if key in names and key in rows}


def same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(np.all(a == b))) or (
        isinstance(a, (int, float)) and isinstance(b, (int, float)) and a == b)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return list(value) if hasattr(value, "__iter__") else [value]


def _by_place(value: Any, names: list[str]) -> Any:
    """Column names; integers are positions in X."""
    if value is None or isinstance(value, str):
        return value
    out = []
    for each in _listed(value):
        if isinstance(each, (int, np.integer)) and not isinstance(each, bool):
            if not -len(names) <= each < len(names):
                raise ValueError(f"there is no column {each}: X has {len(names)} columns")
            each = names[each]
        out.append(str(each))
    return ",".join(out)


def _stay_numbers(model: Any, X: Covariates) -> str | None:
    """Columns of an array stay numeric unless a parameter declares them as codes."""
    codes = [c for key in ("categorical", "batch", "group", "numeric")
             for c in _listed(_by_place(getattr(model, key), X.all_names))]
    use = [] if model.use in WORDS_OF_USE else _listed(_by_place(model.use, X.all_names))
    numbers = [name for name in X.numbers() if name not in codes
               and (not use or any(name == u or fnmatch.fnmatchcase(name, u) for u in use))]
    named = _listed(_by_place(model.numeric, X.all_names))
    return ",".join(numbers + named) or None


def values(model: Any, command: str, X: Covariates, stack: contextlib.ExitStack) -> dict[str, Any]:
    """The options that differ from their defaults, for a command that fits. Files exist as long as the stack."""
    preset = inspect.signature(type(model)).parameters
    out: dict[str, Any] = {}
    for key in option_keys(command):
        if key not in preset or key in OWN:
            continue
        value = getattr(model, key)
        if same(value, preset[key].default):
            continue
        if key in COLUMNS:
            value = _by_place(value, X.all_names)
        elif key in KERNELS and isinstance(value, (list, tuple)):
            value = "+".join(str(text(each)) for each in value)
        elif key == "basis" and isinstance(value, np.ndarray):
            value = _basis_file(value, stack)
        out[key] = text(value)
    if not X.named:
        out["numeric"] = _stay_numbers(model, X)
    return out


def _basis_file(basis: np.ndarray[Any, Any], stack: contextlib.ExitStack) -> str:
    if basis.dtype.kind not in "biuf":
        raise ValueError(f"basis is of dtype {basis.dtype}, expected numbers")
    path = pathlib.Path(stack.enter_context(temporary_folder())) / "basis.npy"
    np.save(path, np.asarray(basis, dtype=np.float64))
    return str(path)
