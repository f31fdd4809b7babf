"""Tables of the files that pipelines write: FreeSurfer, BIDS derivatives."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Iterable

from ._library import lib
from ._session import Session
from ._tables import table_of_text


def _read(values: dict[str, Any]) -> Any:
    session = Session()
    options = session.options("fit", values)
    out = ctypes.c_void_p()
    session.work("responses_table", options, ctypes.byref(out))
    told = ctypes.string_at(out.value or 0).decode("utf-8", "surrogateescape")
    lib.kn_text_free(out)
    return table_of_text(told)


def _listed(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, os.PathLike)) else ",".join(os.fsdecode(v) for v in value)


def read_freesurfer(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], measure: str | Iterable[str] | None = None,
                    atlas: str | Iterable[str] = "aparc") -> Any:
    """Read measures of regions that FreeSurfer wrote, one row per participant.

    Parameters
    ----------
    source : path, or list of paths
        SUBJECTS_DIR, or tables of aparcstats2table and asegstats2table, which are joined by ID.
    measure : str or list of str, optional
        For a SUBJECTS_DIR: "thickness", "area", "volume" or others, as aparcstats2table names them.
    atlas : str or list of str, default "aparc"
        For a SUBJECTS_DIR: "aparc", "aseg" or others.

    Returns
    -------
    DataFrame
        Columns participant_id and regions, as `kronorm fit` reads them. A participant who is missing in one of the
        tables has missing values there; so have failed segmentations (-1).

    Examples
    --------
    >>> thickness = kronorm.read_freesurfer("derivatives/freesurfer", "thickness")
    """
    folder = {"measure": _listed(measure), "atlas": _listed(atlas)} if measure is not None else {}
    return _read({"responses": _listed(source), **folder})


def read_bids(folder: str | os.PathLike[str], suffix: str, *, space: str | None = None, desc: str | None = None,
              entities: str | None = None) -> Any:
    """List the images of a BIDS derivatives folder by the entities in their names.

    Parameters
    ----------
    folder : path
        Derivatives folder.
    suffix : str
        Suffix of the images, such as "thickness".
    space, desc : str, optional
        Values of these entities.
    entities : str, optional
        Further entities, such as "den=32k,label=GM".

    Returns
    -------
    DataFrame
        Columns participant_id, session_id if there are sessions, and path, or left and right for two hemispheres.

    Examples
    --------
    >>> images = kronorm.read_bids("derivatives/fmriprep", "thickness", space="fsLR")
    """
    return _read({"responses": folder, "suffix": suffix, "space": space, "desc": desc, "entities": entities})
