"""X as a file, for participants whose responses are files: the same numbers, levels and ids."""
from __future__ import annotations

import csv
import math
import os
from typing import Any, Sequence

from ._covariates import Covariates, covariates
from ._read_table import is_path


class TableFile:
    """Columns of text, one row per participant, and ids or None."""

    def __init__(self, X: Covariates, id_name: str | None) -> None:
        self.n, self.names, self.ids = X.n, list(X.names), X.ids
        self._id_name = id_name or "participant_id"
        self._columns = [[_cell(value) for value in column] for column in X.columns]
        texts = [column.dtype == object for column in X.columns]
        self.categories = [name for name, cells, is_text in zip(self.names, self._columns, texts)
                           if is_text and all(map(_could_be_number, cells))]  # that a file alone would not tell

    def column(self, names: Sequence[str]) -> list[str] | None:
        """The first column with one of these names."""
        return next((cells for name, cells in zip(self.names, self._columns) if name.strip().lower() in names), None)

    def keys(self, session: str | None) -> list[str] | None:
        """Ids, combined with a session column if there is one; None if keys repeat."""
        keys = self.ids or []
        if session is not None:
            if session not in self.names:
                return None
            visits = [cell.strip() for cell in self._columns[self.names.index(session)]]
            keys = [f"{id_}_ses-{visit[4:] if visit.startswith('ses-') else visit}" for id_, visit in zip(keys, visits)]
        return keys if len(set(keys)) == len(keys) else None

    def write(self, path: str) -> None:
        ids = [] if self.ids is None else [(self._id_name, self.ids)]
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow([name for name, _ in ids] + self.names)
            writer.writerows(zip(*(cells for _, cells in ids), *self._columns))


def file_of(X: Any) -> str | None:
    """The file of X, if X is a path or was read from a file without added columns; else None."""
    if isinstance(X, Covariates):
        return X.path if all(name in X.all_names for name in X.names) else None
    return os.fspath(X) if is_path(X) else None


def table_file(X: Any, id_name: str | None = None) -> TableFile:
    """TableFile of covariates, or of anything that can be converted to covariates."""
    return TableFile(X if isinstance(X, Covariates) else covariates(X, id=id_name, gaps=True), id_name)


def _cell(value: Any) -> str:
    if value is None:
        return "n/a"
    return value if isinstance(value, str) else _number(float(value))


def _number(x: float) -> str:
    """A number as the library writes it: the fewest digits, from 15 on, that are exact."""
    if math.isnan(x):
        return "n/a"
    return next(text for digits in (15, 16, 17) if float(text := f"{x:.{digits}g}") == x)


def _could_be_number(cell: str) -> bool:
    try:
        return cell == "n/a" or math.isfinite(float(cell))
    except ValueError:
        return False
