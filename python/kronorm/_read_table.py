"""Read a table of covariates as columns, cell by cell as the library reads .csv and .tsv."""
from __future__ import annotations

import csv
import os
import re
from typing import Any, Callable

import numpy as np

from ._errors import DataError, FileError

_MISSING = ("", "n/a", "na", "nan", "#n/a", ".", "null")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def is_path(what: Any) -> bool:
    return isinstance(what, (str, os.PathLike))


def is_blank(cell: str) -> bool:
    """Whether the library reads this cell as missing."""
    return cell.strip(" \t\r\n").lower() in _MISSING


def read_columns(path: str | os.PathLike[str], is_text: Callable[[str], bool] = lambda name: False) -> dict[str, np.ndarray[Any, Any]]:
    """Columns by name, as numbers (NaN is missing) or texts (None is missing). Columns whose names `is_text` accepts are
    always texts, such as ids."""
    path = os.fspath(path)
    if not path.lower().endswith((".csv", ".tsv")):
        raise DataError(f"{path}: expected a table named .csv or .tsv")
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            header = file.readline()
            file.seek(0)
            mark = _separator(header, "\t" if path.lower().endswith(".tsv") else ",")
            rows = [row for row in csv.reader(file, delimiter=mark) if row]
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: {error}") from error
    if len(rows) < 2:
        raise DataError(f"{path}: the file has a header but no rows" if rows else f"{path} is empty, but must contain a header and rows")
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise DataError(f"{path} row {i}: {len(row)} fields, expected {len(rows[0])} as in the header")
    return {name: _column([row[j] for row in rows[1:]], is_text(name))
            for j, name in enumerate(rows[0]) if name.strip()}


def _separator(header: str, usual: str) -> str:
    """The separator of the file extension, unless the header has only another one."""
    others = [mark for mark in ",\t;" if mark in header]
    return others[0] if usual not in header and len(others) == 1 else usual


def _column(cells: list[str], is_text: bool) -> np.ndarray[Any, Any]:
    given = [None if is_blank(cell) else cell.strip() for cell in cells]
    if not is_text and all(cell is None or _NUMBER.fullmatch(cell) for cell in given):
        return np.array([np.nan if cell is None else float(cell) for cell in given])
    out = np.empty(len(cells), dtype=object)
    out[:] = [cell if kept is not None else None for cell, kept in zip(cells, given)]
    return out
