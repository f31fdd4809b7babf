"""The options of the library as a table."""
from __future__ import annotations

from typing import Any

from . import _params
from ._session import option_table
from ._tables import table


def options(command: str = "fit") -> Any:
    """List the options of a command.

    Parameters
    ----------
    command : {"fit", "score", "predict", "adapt", "centiles", "change", "report", "export", "cv"}, default "fit"
        Command of kronorm.

    Returns
    -------
    DataFrame
        Key, default, values, heading and help, one row per option. Those of "fit" are the parameters of
        `NormativeModel`, except for files.

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
