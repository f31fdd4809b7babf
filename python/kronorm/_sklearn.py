"""Base classes of the estimator: those of scikit-learn if it is installed, else small ones with the same behaviour."""
from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

__all__ = ["BaseEstimator", "MultiOutputMixin", "NotFittedError", "RegressorMixin", "r2"]


class _OwnNotFittedError(ValueError, AttributeError):
    """A method needs a fitted model."""


class _OwnBase:
    """get_params, set_params and repr for a class whose __init__ only stores its arguments."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name."""
        known = self._get_param_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {known!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        preset = inspect.signature(type(self)).parameters
        given = [f"{name}={value!r}" for name, value in self.get_params().items()
                 if not (value is preset[name].default or value == preset[name].default)]
        return f"{type(self).__name__}({', '.join(given)})"


class _OwnMixin:
    _estimator_type = "regressor"


class _OwnOutputs:
    pass


if TYPE_CHECKING:
    BaseEstimator = _OwnBase
    RegressorMixin = _OwnMixin
    MultiOutputMixin = _OwnOutputs
    NotFittedError = _OwnNotFittedError
else:
    try:
        from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
        from sklearn.exceptions import NotFittedError
    except ImportError:
        BaseEstimator, RegressorMixin, MultiOutputMixin, NotFittedError = _OwnBase, _OwnMixin, _OwnOutputs, _OwnNotFittedError


class Tags:
    """Capabilities for scikit-learn: several responses with missing values; text covariates (categorical), with missing
    values if {missing} allows them."""

    missing: str | None

    def _gaps(self) -> bool:
        return self.missing in ("drop", "mean")

    def _more_tags(self) -> dict[str, Any]:  # scikit-learn before 1.6
        return {"allow_nan": self._gaps(), "X_types": ["2darray", "string"]}

    def __sklearn_tags__(self) -> Any:  # from 1.6 on
        tags: Any = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = self._gaps()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def r2(Y: Any, predicted: Any, weights: Any = None) -> float:
    """R2 as in scikit-learn, averaged over responses. Cells without a value or a prediction and responses without a
    prediction are not counted."""
    Y, predicted = (np.asarray(a, dtype=np.float64).reshape(len(a), -1) for a in (Y, predicted))
    told = np.isfinite(Y) & np.isfinite(predicted)
    w = told * (1.0 if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1, 1))
    total = w.sum(axis=0)
    usable = (told.sum(axis=0) > 1) & (total > 0)
    Y, predicted = np.where(told, Y, 0)[:, usable], np.where(told, predicted, 0)[:, usable]
    w, total = w[:, usable], total[usable]
    if not usable.any():
        return float("nan")
    around = (w * (Y - (w * Y).sum(axis=0) / total) ** 2).sum(axis=0)
    left = (w * (Y - predicted) ** 2).sum(axis=0)
    flat = around == 0
    each = 1 - left / np.where(flat, 1, around)
    return float(np.mean(np.where(flat, np.where(left == 0, 1.0, 0.0), each)))
