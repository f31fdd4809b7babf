"""Exceptions: each is also what a scikit-learn user expects, and says the library's own sentence."""
from __future__ import annotations

import re

from . import _abi


class KronormError(Exception):
    """Any failure of the library."""


class OptionError(KronormError, ValueError):
    """An option is out of range or contradicts another."""


class DataError(KronormError, ValueError):
    """Shapes or values that cannot be used: sizes that disagree, not finite, constant, too few; or a file
    that is not what it should be."""


class NumericError(KronormError, ArithmeticError):
    """A factorisation or an optimiser failed."""


class OutOfMemory(KronormError, MemoryError):
    """Memory ran out, or would."""


class Cancelled(KronormError, RuntimeError):
    """The work was stopped before there was anything to return."""


class FileError(KronormError, OSError):
    """A file could not be read or written."""


class KronormWarning(UserWarning):
    """What the library wants to be known about data or a model."""


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


# What does here what a command does. Others, such as simulate, are commands only.
CALLS = {**{name: name + "()" for name in ("fit", "adapt", "predict", "change", "report", "export", "cv", "centiles")},
         "score": "scores()", "info": "info_"}
FLAGS = ("force", "strip_ids", "known_groups")  # options that are said by True where a sentence asks for them

# What is done otherwise than by an option of that name.
PHRASES = (
    ("('kronorm change' with {save})", "(it is the model of what change() returns)"),
    ("(use {match=common})", "(leave them out)"),
    ("(leave it out, with {where} or {match=common})", "(leave it out)"),
    ("({where} chooses rows)", "(choose rows of X)"),
    ("leave them out with {where}, or", "leave them out, or"),
    ("or people with {where})", "or fewer people)"),
    ("for sessions of one person use {session}", "of several visits give the images in the order of X"),
    ("needs {covariates} and {responses}: the people", "needs training=(X, Y): the people"),
    ("{covariates} are for", "training is for"),
    ("{people} needs {responses}", "X needs Y"),
)


def _option(found: re.Match[str]) -> str:
    asked, key, value = found.groups()
    if value is not None:
        return f'{asked or ""}{key}="{value}"'
    return f"{asked}{key}=True" if asked and key in FLAGS else f"{asked or ''}{key}"


def spelled(sentence: str) -> str:
    """The library's sentence as Python writes it: {missing=drop} is missing="drop", 'kronorm adapt' is adapt(), and
    rows are counted from 0."""
    for told, here in PHRASES:
        sentence = sentence.replace(told, here)
    sentence = re.sub(r"'kronorm (\w+)'", lambda m: CALLS.get(m[1], m[0]), sentence)
    sentence = re.sub(r"\b(covariates|ids) row (\d+)\b", lambda m: f"{m[1]} row {int(m[2]) - 1} (from 0)", sentence)
    return re.sub(r"(\b(?:use|with) )?\{(\w+)(?:=([^}]*))?\}", _option, sentence)


def failure(status: int, sentence: str) -> KronormError:
    return _OF_STATUS.get(status, KronormError)(spelled(sentence))
