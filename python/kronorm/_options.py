"""Every option of the library, as a table."""
from __future__ import annotations

from typing import Any

from . import _params
from ._session import option_table
from ._tables import table


def options(command: str = "fit") -> Any:
    """The options of a command of kronorm: key, default, what values are, and what it does.

    Parameters
    ----------
    command : str
        fit, score, predict, adapt, centiles, change, report, export or cv.

    Returns
    -------
    DataFrame
        A row an option. Those of "fit" are the parameters of `NormativeModel`, but for files.

    Examples
    --------
    >>> kronorm.options("score")
    """
    rows = option_table(command)
    if not rows:
        raise ValueError(f"there is no command {command!r}")
    return table({"option": [row["key"] for row in rows], "default": [_params.default(row) for row in rows],
                  "values": [row["words"] or row["value"] for row in rows], "heading": [row["heading"] for row in rows],
                  "help": [row["help"] for row in rows]})
