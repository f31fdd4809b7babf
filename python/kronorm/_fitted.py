"""What a fitted model remembers: its attributes, its bytes, and how it is kept."""
from __future__ import annotations

import numbers
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _params
from ._errors import spelled
from ._native import Native
from ._scores import spread
from ._session import Progress, Session
from ._sklearn import NotFittedError

Array = NDArray[Any]


class Fitted:
    """Attributes that end in _ are there after `fit`."""

    threads: int | None
    memory: str | int | None
    progress: Progress | bool | None
    strip_ids: bool
    n_features_in_: int
    warnings_: list[str]
    masker_: Any  # of fit_images, where it was given one
    _native: Native | None
    _rows: Array | None
    _n_rows: int
    _flat: bool
    _ordered: bool

    def _session(self) -> Session:
        threads: Any = self.threads
        if threads is not None and not isinstance(threads, numbers.Integral):
            raise ValueError(f"threads is {threads!r}, expected a whole number, or None for all processors")
        return Session(threads=None if threads is None else int(threads), memory=self.memory,
                       progress=self.progress)

    def _fitted(self) -> Native:
        if "_native" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate "
                                 "arguments before using this estimator.")
        native = self._native
        if native is None:
            raise ValueError(f"This {type(self).__name__} is closed.")
        return native

    def __sklearn_is_fitted__(self) -> bool:
        return self.__dict__.get("_native") is not None

    def _used_features(self) -> list[str]:
        return self._fitted().features()

    # ---- attributes ----------------------------------------------------------------------------------

    @property
    def info_(self) -> dict[str, Any]:
        """All that is known of the model: what ``kronorm info --json`` prints."""
        return self._fitted().info(Session())

    def summary(self) -> str:
        """The model in words: its people and parts, how held-out people lie, what each covariate does.

        Returns
        -------
        str

        Examples
        --------
        >>> print(model.summary())
        """
        native, session = self._fitted(), Session()
        size = {name: native.count(name) for name in ("n_samples", "n_covariates", "n_responses", "n_components")}
        return (f"{size['n_samples']} people, {size['n_covariates']} covariates, {size['n_responses']} responses, "
                f"{size['n_components']} components\n"
                f"people held out: mean z^2 {native.number('cv.z2'):.3f}, MSLL {native.number('cv.msll'):.3f}\n"
                + spelled(native.words(session)).rstrip())

    @property
    def lml_(self) -> float:
        """Log marginal likelihood."""
        return self._fitted().number("lml")

    @property
    def n_components_(self) -> int:
        """Basis functions; 0 of methods that have none."""
        return self._fitted().count("n_components")

    @property
    def n_outputs_(self) -> int:
        """Responses."""
        return self._fitted().count("n_responses")

    @property
    def response_names_(self) -> list[str] | None:
        """Names of the responses; None: they have none."""
        return self._fitted().response_names()

    @property
    def ids_(self) -> list[str] | None:
        """Ids of the training people; None: they had none, or the model does not keep them."""
        return self._fitted().ids()

    @property
    def components_(self) -> Array:
        """Basis, n_components x n_outputs, in standardised units; NaN where a response was left out."""
        native = self._fitted()
        basis = native.array("B")
        if basis is None:
            raise AttributeError(f"method={native.info(Session())['method']!r} has no components")
        return self._everywhere(native, basis.T)

    @property
    def noise_(self) -> Array:
        """Variance of people around their expectation, of each response; NaN where it was left out."""
        return self._fitted().noise(Session())

    @property
    def cv_zscores_(self) -> Array:
        """z of the training people by models that have not seen them, n_samples x n_outputs in the order of X; NaN
        of whoever is not in the reference, and of responses that were left out."""
        native = self._fitted()
        z = native.array("z_cv")
        z = self.__dict__.get("_z_cv") if z is None else z
        if z is None:
            raise AttributeError("the model keeps no cross-validated z of its training people")
        rows = self._rows if self._rows is not None else np.arange(native.count("n_samples"))
        if len(rows) != native.count("n_samples"):  # better none than somebody else's
            raise AttributeError("which rows of X the training people are is not known: X needs ids, each once")
        who = rows[native.reference()]
        everybody = len(who) == self._n_rows and bool(np.all(who == np.arange(self._n_rows)))
        z = spread(self._everywhere(native, z), None if everybody else who, self._n_rows)
        return z[:, 0] if self._flat else z

    def _everywhere(self, native: Native, values: Array) -> Array:
        """Values of the responses in use among all of them."""
        kept, T = native.kept(), native.count("n_responses")
        if len(kept) == T:
            return values
        out = np.full((len(values), T), np.nan, dtype=values.dtype)
        out[:, kept] = values
        return out

    # ---- kept ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Writes the model file, which `kronorm.load` and the command read. It has covariates and ids of the training
        people in it: personal data.

        Parameters
        ----------
        path : path
        force : bool
            Write over a file that exists.

        Examples
        --------
        >>> model.save("model.safetensors")
        """
        self._fitted().save(self._session(), path, force)

    def to_bytes(self) -> bytes:
        """What `save` writes, in memory.

        Returns
        -------
        bytes

        Examples
        --------
        >>> same = NormativeModel.from_bytes(model.to_bytes())
        """
        return self._fitted().to_bytes(Session())

    @classmethod
    def from_bytes(cls, content: bytes) -> Any:
        """The model of `to_bytes`.

        Parameters
        ----------
        content : bytes

        Returns
        -------
        NormativeModel

        Examples
        --------
        >>> same = NormativeModel.from_bytes(model.to_bytes())
        """
        model = cls()
        model._adopt(Native.from_bytes(Session(), content))
        return model

    def close(self) -> None:
        """Frees the model now rather than with the last reference to it.

        Examples
        --------
        >>> model.close()
        """
        self._fitted()
        self._native = None

    def _adopt(self, native: Native) -> None:
        """A model that was fitted elsewhere: its parameters and features are those that it remembers."""
        info = native.info(Session())
        params: Any = self
        params.set_params(**_params.from_info(info.get("options") or {}, set(params.get_params(deep=False))))
        names = native.features()
        self._native, self._rows, self._n_rows = native, None, native.count("n_samples")
        self._flat, self._ordered = False, False
        self.n_features_in_ = len(names)
        if all(re.fullmatch(r"x\d+", name) for name in names):  # of an array
            self.n_features_in_ = 1 + max(int(name[1:]) for name in names)
        else:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.warnings_ = []

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        native = state.pop("_native", None)
        if native is not None:
            state["_model_bytes"] = native.to_bytes(Session())
            z = None if self.strip_ids or native.ids() else native.array("z_cv")
            if z is not None:  # files keep it for the sake of ids, which these people do not have
                state["_z_cv"] = np.array(z)
        elif "_native" in self.__dict__:
            state["_closed"] = True
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        content, closed = state.pop("_model_bytes", None), state.pop("_closed", False)
        self.__dict__.update(state)
        if content is not None:
            self._native = Native.from_bytes(Session(), content)
        elif closed:
            self._native = None

