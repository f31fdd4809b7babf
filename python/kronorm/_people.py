"""kn_data of people in memory: covariates, ids, and responses that are read where they are."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

import numpy as np

from . import _abi
from ._covariates import Covariates, shuffled
from ._library import Handle
from ._memory import doubles, text_array
from ._responses import Responses
from ._session import Session, encoded


def check_together(X: Covariates, Y: Responses) -> None:
    """Are rows of both the same people?"""
    if len(Y.values) != X.n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{X.n}, {len(Y.values)}]")
    if X.ids is None or Y.ids is None:
        if shuffled(X.index, Y.index):
            raise ValueError("X and Y are not of the same people in the same order: their indexes have the same rows in "
                             "another order (Y.loc[X.index] puts them in order; Y.to_numpy() where they are in order)")
        return
    for i, (a, b) in enumerate(zip(X.ids, Y.ids)):
        if a != b:
            raise ValueError(f"X and Y are not of the same people in the same order: row {i} is {a!r} in X and {b!r} in Y "
                             "(Y.loc[X.index] puts them in order)")


@contextlib.contextmanager
def people(session: Session, X: Covariates, Y: Responses | None = None) -> Iterator[Handle]:
    """These people for the library, as long as the block lasts."""
    data = session.make(_abi.kn_data, "data_new", X.n)
    for name, values in zip(X.names, X.columns):
        called = encoded(name, "a name of a column of X")
        if values.dtype == object:
            session.do("data_texts", data.pointer, called, text_array(values))
        else:
            values = np.ascontiguousarray(values)
            session.do("data_numbers", data.pointer, called, doubles(values), 1)
    if X.ids is not None:
        session.do("data_ids", data.pointer, text_array(X.ids))
    if Y is not None:
        check_together(X, Y)
        data.lent.append(Y.values)
        session.do("data_responses", data.pointer, Y.view(), None if Y.names is None else text_array(Y.names))
    yield data
