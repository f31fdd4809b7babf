"""Results as tables: pandas DataFrames, or without pandas a dict of columns that prints as a table."""
from __future__ import annotations

import csv
import io
import os
from typing import TYPE_CHECKING, Any, Mapping

import numpy as np

if TYPE_CHECKING:
    pandas: Any
else:
    try:
        import pandas
    except ImportError:
        pandas = None


class Table(dict):  # type: ignore[type-arg]
    """Columns by name as numpy arrays: the substitute for a DataFrame without pandas."""

    @property
    def columns(self) -> list[str]:
        return list(self)

    @property
    def shape(self) -> tuple[int, int]:
        return len(next(iter(self.values()))) if self else 0, len(self)

    def __repr__(self) -> str:
        lines = ["\t".join(self)] + ["\t".join(map(str, row)) for row in list(zip(*self.values()))[:10]]
        return "\n".join(lines + ([f"... {self.shape[0]} rows"] if self.shape[0] > 10 else []))


def table(columns: Mapping[str, Any], index: Any = None) -> Any:
    """Make a table from columns; `index` is for a DataFrame."""
    if pandas is None:
        return Table({name: np.asarray(values) for name, values in columns.items()})
    return pandas.DataFrame(dict(columns), index=index)


def _column(cells: list[str]) -> np.ndarray[Any, Any]:
    try:
        return np.array([np.nan if c in ("n/a", "") else float(c) for c in cells])
    except ValueError:
        return np.array([None if c == "n/a" else c for c in cells], dtype=object)


def read_table(path: str | os.PathLike[str]) -> Any:
    """Read a .tsv or .csv file of the library: exact numbers, n/a as missing."""
    with open(path, encoding="utf-8", newline="") as file:  # read here: pandas would take Ctrl-C for a bad file
        return table_of_text(file.read(), "," if os.fspath(path).endswith(".csv") else "\t")


def table_of_text(text: str, mark: str = "\t") -> Any:
    """A table from the text of such a file."""
    if pandas is not None:
        return pandas.read_csv(io.StringIO(text), sep=mark, float_precision="round_trip", na_values=["n/a"],
                               keep_default_na=False, dtype={name: str for name in TEXTS})
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=mark))
    return Table({name: np.array(cells, dtype=object) if name in TEXTS else _column(cells)
                  for name, cells in ((name, [row[j] for row in rows[1:]]) for j, name in enumerate(rows[0]))})


# columns of names, even if they look like numbers
TEXTS = ("participant_id", "session_id", "response", "visit1", "visit2", "site", "level")
