"""Exceptions and warnings with the sentences of the library; each exception is also a standard Python exception."""
from __future__ import annotations

import re

from . import _abi


class KronormError(Exception):
    """Base class of the errors of the library."""


class OptionError(KronormError, ValueError):
    """An option is out of range or contradicts another option."""


class DataError(KronormError, ValueError):
    """Unusable data: sizes that disagree; values that are not finite, constant or too few; or an invalid file."""


class NumericError(KronormError, ArithmeticError):
    """A factorisation or the optimiser failed."""


class OutOfMemory(KronormError, MemoryError):
    """Not enough memory, or the memory limit would be exceeded."""


class Cancelled(KronormError, RuntimeError):
    """The work was stopped before there was a result."""


class FileError(KronormError, OSError):
    """A file could not be read or written."""


class KronormWarning(UserWarning):
    """A property of the data or the model that should be checked."""


_OF_STATUS: dict[int, type[KronormError]] = {
    _abi.KN_ERR_ARGUMENT: OptionError,
    _abi.KN_ERR_SHAPE: DataError,
    _abi.KN_ERR_DATA: DataError,
    _abi.KN_ERR_NUMERIC: NumericError,
    _abi.KN_ERR_MEMORY: OutOfMemory,
    _abi.KN_ERR_CANCELLED: Cancelled,
    _abi.KN_ERR_IO: FileError,
    _abi.KN_ERR_FORMAT: DataError,
}


# The method for each command. Other commands, such as simulate, have none.
CALLS = {**{name: name + "()" for name in ("fit", "adapt", "predict", "change", "report", "export", "cv", "centiles")},
         "score": "scores()", "info": "info_"}
FLAGS = ("force", "strip_ids", "known_groups")  # flags, which a sentence names as KEY=True

# Phrases whose option has another form in Python.
PHRASES = (
    ("('kronorm change' with {save})", "(it is the model of what change() returns)"),
    ("use {match=common} to use only the IDs that are in both", "omit the IDs that are not in both"),
    ("use {match=common} to keep the IDs in all tables", "omit the IDs that are not in all tables"),
    ("exclude it with {where} or {match=common}", "exclude it"),
    ("exclude such images with {where} or {match=common}", "exclude such images"),
    ("select the controls with {where}", "give only the rows of the controls"),
    ("exclude them with {where}", "exclude them"),
    ("or participants with {where}", "or fewer participants"),
    ("if these are sessions of one participant, use {session}",
     "if there are several visits, give the images in the order of X"),
    ("needs the {covariates} and {responses} of the training sample", "needs training=(X, Y), the training sample"),
    ("{covariates} are for", "training is for"),
    ("{participants} needs {responses}", "X needs Y"),
)


def _option(found: re.Match[str]) -> str:
    asked, key, value = found.groups()
    if value is not None:
        return f'{asked or ""}{key}="{value}"'
    return f"{asked}{key}=True" if asked and key in FLAGS else f"{asked or ''}{key}"


def spelled(sentence: str) -> str:
    """Rewrite a sentence of the library for Python: {missing=drop} becomes missing="drop", 'kronorm adapt' becomes
    adapt(), and rows are counted from 0."""
    for told, here in PHRASES:
        sentence = sentence.replace(told, here)
    sentence = re.sub(r"'kronorm (\w+)'", lambda m: CALLS.get(m[1], m[0]), sentence)
    sentence = re.sub(r"\b(covariates|ids) row (\d+)\b", lambda m: f"{m[1]} row {int(m[2]) - 1} (from 0)", sentence)
    return re.sub(r"(\b(?:use|with) )?\{(\w+)(?:=([^}]*))?\}", _option, sentence)


def failure(status: int, sentence: str) -> KronormError:
    """The exception for a status of the library."""
    return _OF_STATUS.get(status, KronormError)(spelled(sentence))
