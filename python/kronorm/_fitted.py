"""Attributes, file and state of a fitted model."""
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
    """Attributes of a fitted model; their names end in an underscore."""

    threads: int | None
    memory: str | int | None
    progress: Progress | bool | None
    strip_ids: bool
    n_features_in_: int
    warnings_: list[str]
    masker_: Any  # of fit_images, if there was one
    _native: Native | None
    _rows: Array | None
    _n_rows: int
    _flat: bool
    _ordered: bool

    def _session(self) -> Session:
        threads: Any = self.threads
        if threads is not None and not isinstance(threads, numbers.Integral):
            raise ValueError(f"threads is {threads!r}, expected an integer, or None for all processors")
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
        """Complete description of the model: the output of ``kronorm info --json``."""
        return self._fitted().info(Session())

    def summary(self) -> str:
        """Describe the model in plain text: sample, terms, cross-validation and the effect of each covariate.

        Returns
        -------
        str
            Several lines.

        Examples
        --------
        >>> print(model.summary())
        """
        native, session = self._fitted(), Session()
        size = {name: native.count(name) for name in ("n_samples", "n_covariates", "n_responses", "n_components")}
        counts = [f"{n} {what}{'' if n == 1 else 's'}" for n, what in zip(size.values(), ("participant", "covariate", "response",
                                                                                          "component"))]
        return (", ".join(counts) + "\n"
                f"cross-validation: mean z^2 {native.number('cv.z2'):.3f}, R2 {native.number('cv.R2'):.3f}, "
                f"MSLL {native.number('cv.msll'):.3f}, gain {native.number('cv.gain'):.3f}\n"
                + spelled(native.words(session)).rstrip())

    @property
    def lml_(self) -> float:
        """Log marginal likelihood."""
        return self._fitted().number("lml")

    @property
    def n_components_(self) -> int:
        """Number of components; 0 for methods without a basis."""
        return self._fitted().count("n_components")

    @property
    def n_outputs_(self) -> int:
        """Number of responses."""
        return self._fitted().count("n_responses")

    @property
    def response_names_(self) -> list[str] | None:
        """Names of the responses, or None."""
        return self._fitted().response_names()

    @property
    def ids_(self) -> list[str] | None:
        """Ids of the training sample; None if there are none or the model does not store them."""
        return self._fitted().ids()

    @property
    def components_(self) -> Array:
        """Basis in standardised units, of shape (n_components, n_outputs); NaN for excluded responses."""
        native = self._fitted()
        basis = native.array("B")
        if basis is None:
            raise AttributeError(f"method={native.info(Session())['method']!r} has no components")
        return self._everywhere(native, basis.T)

    @property
    def noise_(self) -> Array:
        """Noise variance of each response, in its units; NaN for excluded responses."""
        return self._fitted().noise(Session())

    @property
    def cv_zscores_(self) -> Array:
        """Cross-validated z-scores of the training sample, of shape (n_samples, n_outputs), in the rows of X. NaN for
        participants outside the reference sample and for excluded responses."""
        native = self._fitted()
        z = native.array("z_cv")
        z = self.__dict__.get("_z_cv") if z is None else z
        if z is None:
            raise AttributeError("the model has no cross-validated z-scores of its training sample")
        rows = self._rows if self._rows is not None else np.arange(native.count("n_samples"))
        if len(rows) != native.count("n_samples"):  # never those of another participant
            raise AttributeError("which rows of X are the training sample is unknown: X needs unique ids")
        reference = rows[native.reference()]
        complete = len(reference) == self._n_rows and bool(np.all(reference == np.arange(self._n_rows)))
        z = spread(self._everywhere(native, z), None if complete else reference, self._n_rows)
        return z[:, 0] if self._flat else z

    def _everywhere(self, native: Native, values: Array) -> Array:
        """Expand values of the responses in use to all responses, with NaN elsewhere."""
        kept, T = native.kept(), native.count("n_responses")
        if len(kept) == T:
            return values
        out = np.full((len(values), T), np.nan, dtype=values.dtype)
        out[:, kept] = values
        return out

    # ---- kept ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the model file, which `kronorm.load`, the command and R read.

        It contains covariates and ids of the training sample, which are personal data; see `export`.

        Parameters
        ----------
        path : path
            File to write, .safetensors.
        force : bool, default False
            Replace an existing file.

        Examples
        --------
        >>> model.save("model.safetensors")
        """
        self._fitted().save(self._session(), path, force)

    def to_bytes(self) -> bytes:
        """Make the content of the model file in memory.

        Returns
        -------
        bytes
            What `save` writes.

        Examples
        --------
        >>> same = NormativeModel.from_bytes(model.to_bytes())
        """
        return self._fitted().to_bytes(Session())

    @classmethod
    def from_bytes(cls, content: bytes) -> Any:
        """Read a model from the content of its file.

        Parameters
        ----------
        content : bytes
            From `to_bytes` or a model file.

        Returns
        -------
        NormativeModel
            Fitted.

        Examples
        --------
        >>> same = NormativeModel.from_bytes(model.to_bytes())
        """
        model = cls()
        model._adopt(Native.from_bytes(Session(), content))
        return model

    def close(self) -> None:
        """Free the model now instead of with its last reference.

        Examples
        --------
        >>> model.close()
        """
        self._fitted()
        self._native = None

    def _adopt(self, native: Native) -> None:
        """Take a model that was fitted elsewhere, with the parameters and features that it stores."""
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
            if z is not None:  # the model file keeps it only with ids
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

