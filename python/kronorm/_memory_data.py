"""kn_data of participants in memory: covariates, ids, and responses that are read without a copy."""
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
    """Check that the rows of X and Y belong to the same participants."""
    if len(Y.values) != X.n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{X.n}, {len(Y.values)}]")
    if X.ids is None or Y.ids is None:
        if shuffled(X.index, Y.index):
            raise ValueError("X and Y have the same rows in different order: use Y.loc[X.index], or Y.to_numpy() if the rows already "
                             "correspond")
        return
    for i, (a, b) in enumerate(zip(X.ids, Y.ids)):
        if a != b:
            raise ValueError(f"X and Y have different ids: row {i} is {a!r} in X and {b!r} in Y. Use Y.loc[X.index] to put Y in the "
                             "order of X")


def refuse_responses(X: Covariates, Y: Responses) -> None:
    """Check that no column of X is also a column of Y: it would predict itself."""
    both = [name for name in X.names if X.named and name in (Y.names or ())]
    if both:
        more = f" and {len(both) - 1} more" if len(both) > 1 else ""
        raise ValueError(f"X has the column '{both[0]}'{more} of Y: a response cannot be a covariate. Drop the columns from X, or "
                         "name the covariates with use")


@contextlib.contextmanager
def memory_data(session: Session, X: Covariates, Y: Responses | None = None) -> Iterator[Handle]:
    """kn_data of X and Y; it lives as long as the block."""
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
