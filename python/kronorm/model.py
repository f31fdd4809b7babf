"""NormativeModel: what is normal, learned from some people, as a scikit-learn estimator."""
from __future__ import annotations

import contextlib
import os
from typing import Any, Iterable, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from . import _abi, _params
from ._covariates import Covariates, covariates, covariates_for
from ._fitted import Fitted
from ._folders import FolderMethods
from ._images import image_people, is_images, masked, refuse_shuffled, to_images, write_scores
from ._library import Handle
from ._native import Native
from ._people import check_together, people
from ._responses import Responses, responses
from ._scores import MAPS, Scores, rows_of
from ._session import Progress, Session
from ._sklearn import BaseEstimator, MultiOutputMixin, RegressorMixin, Tags, r2

Columns = Union[None, str, Sequence[Union[str, int]]]
Array = NDArray[Any]


class NormativeModel(FolderMethods, Fitted, Tags, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A normative model: what is normal for given covariates, learned from healthy people.

    An estimator of scikit-learn: covariates X, responses Y, a row a person. Parameters are the options of ``kronorm
    fit`` by their names, with their defaults; `kronorm.options` lists them, docs/options.md explains them. Columns can
    be named by their names or by their places in X.

    Parameters
    ----------
    id : str
        Column of X with the ids; default participant_id, sub_id, subject_id or SubjID, or an index of texts.
    missing : {"error", "drop", "mean"}
        What to do about a missing covariate. Who is dropped has NaN in results, whose rows are always those of X.
    missing_responses : {"fill", "drop"}
        Cells of Y that are NaN: filled in from the other responses, or the response is left out.
    use : columns, or patterns of them
        Covariates; default all but the id and those that tell patients or visits.
    categorical, numeric : columns
        Numbers that are categories; columns that stay numbers although they have two values, or are named site. Of an
        array all columns of numbers stay numbers.
    scratch : folder for temporary files of responses that memory has no room for
    method : {"smtgpr", "stgpr", "kronprod", "mtgpr", "kronsum", "convolved"}
    components : int or "auto"
        Basis functions; "auto" by cross-validation.
    noise : {"structured", "iso", "whitened", "auto"}
    likelihood : {"exact", "paper"}
        With iso noise.
    preset : {None, "paper"}
    sample_kernel, task_kernel : str such as "linear+se"
    task_scale : {"none", "sqrtN"}
    basis : "pca", array of n_outputs x components, or a file, "labels:ATLAS", "harmonics:SURF.gii,K"
    basis_axes : {"principal", "given"}
    noise_rank, ppca : of method "mtgpr"
    plain : of method "stgpr"
    shrinkage : of method "kronsum"
    on, smooth, latent, widths, inducing, inducing_points : of method "convolved"
    calibrate : {"auto", "none", "student", "full"}
        From residuals to standard normal z.
    standardise : bool
    group : column, "auto" or "none"
        Rows that share noise; "auto": repeated ids.
    batch : columns, "auto" or "none"
        Categories that new people may have further levels of, such as sites; see `adapt`.
    interaction : "CATEGORY:COLUMN", or some of them
        Slopes that differ between levels.
    optimiser, restarts, max_evals, max_seconds, rank, theta, rho, length : of the search
    folds : int
        Of the cross-validated z of the training people (`cv_zscores_`), whom others are compared with.
    top : float
        Share of responses in the abnormality statistic.
    strip_ids : bool
        Leave the training ids out of the model.
    seed : int
        Of everything random: the same seed gives the same model.
    threads : int
        Default all processors.
    memory : str or int such as "8G"
        To stay within; default half of what there is.
    progress : bool or function
        True: a bar of tqdm. A function is called with stage, done, total and the log-likelihood.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.
    n_outputs_ : int
    response_names_ : list of str or None
    components_ : ndarray, n_components x n_outputs
    n_components_ : int
    lml_ : float
        Log marginal likelihood.
    noise_ : ndarray, n_outputs
        Variance of people around their expectation.
    cv_zscores_ : ndarray, n_samples x n_outputs
        z of the training people by models that have not seen them.
    ids_ : list of str or None
    info_ : dict
        All that is known of the model.
    warnings_ : list of str
        What the library said in `fit`.

    Notes
    -----
    A fitted model is immutable and may be shared between threads. Pickle, copy and joblib keep the bytes of its file.

    Examples
    --------
    >>> model = NormativeModel(components=20).fit(participants[["age", "sex", "site"]], thickness)
    >>> model.score_people(patients, thickness_of_patients)
    """

    def __init__(
        self, *, id: str | None = None, missing: str = "error", missing_responses: str = "fill", use: Columns = None,
        categorical: Columns = None, numeric: Columns = None, scratch: str | None = None, method: str = "smtgpr",
        components: int | str = "auto", noise: str = "structured", likelihood: str = "exact", preset: str | None = None,
        sample_kernel: str | None = None, task_kernel: str | None = None, task_scale: str = "none", basis: Any = "pca",
        basis_axes: str = "principal", noise_rank: int = 0, ppca: bool = False, plain: bool = False,
        shrinkage: int | str = "auto", on: str = "components", smooth: Columns = None, latent: int = 1,
        widths: str = "own", inducing: str = "variational", inducing_points: int = 10, calibrate: str = "auto",
        standardise: bool = True, group: str | int = "auto", batch: Columns = "auto",
        interaction: str | Sequence[str] | None = None, optimiser: str = "nested", restarts: int = 0,
        max_evals: int = -1, max_seconds: float = 0.0, rank: int | str = "auto",
        theta: str | Sequence[float] | None = None, rho: float | None = None, length: float | None = None,
        folds: int = 10, top: float = 0.05, strip_ids: bool = False, seed: int = 1, threads: int | None = None,
        memory: str | int | None = None, progress: Progress | bool | None = None,
    ) -> None:
        self.id, self.missing, self.missing_responses, self.use = id, missing, missing_responses, use
        self.categorical, self.numeric, self.scratch = categorical, numeric, scratch
        self.method, self.components, self.noise, self.likelihood = method, components, noise, likelihood
        self.preset, self.sample_kernel, self.task_kernel, self.task_scale = preset, sample_kernel, task_kernel, task_scale
        self.basis, self.basis_axes, self.noise_rank, self.ppca, self.plain = basis, basis_axes, noise_rank, ppca, plain
        self.shrinkage, self.on, self.smooth, self.latent, self.widths = shrinkage, on, smooth, latent, widths
        self.inducing, self.inducing_points, self.calibrate = inducing, inducing_points, calibrate
        self.standardise, self.group, self.batch, self.interaction = standardise, group, batch, interaction
        self.optimiser, self.restarts, self.max_evals, self.max_seconds = optimiser, restarts, max_evals, max_seconds
        self.rank, self.theta, self.rho, self.length = rank, theta, rho, length
        self.folds, self.top, self.strip_ids, self.seed = folds, top, strip_ids, seed
        self.threads, self.memory, self.progress = threads, memory, progress

    # ---- training ------------------------------------------------------------------------------------

    def fit(self, X: Any, Y: Any) -> NormativeModel:
        """Learns what is normal from healthy people.

        Parameters
        ----------
        X : DataFrame, array-like of numbers, or dict of columns; n_samples rows
            Covariates. Columns of texts, categories and booleans are categories; a column, an index or a level of it
            called ``participant_id``, ``sub_id``, ``subject_id`` or ``SubjID``, or an index of texts, has the ids.
        Y : DataFrame, Series or array-like, n_samples x n_outputs; or images
            Responses, a row a person in the order of X. float32 and float64 are read where they are. NaN is missing.

        Returns
        -------
        self

        Examples
        --------
        >>> model = NormativeModel(batch="site").fit(participants[["age", "sex", "site"]], thickness)
        """
        return self._fit(X, Y)

    def _fit(self, X: Any, Y: Any, mask: Any = None) -> NormativeModel:
        session = self._session()
        C = covariates(X, id=self.id, who=type(self).__name__, gaps=self._gaps())
        with contextlib.ExitStack() as stack:
            values = _params.values(self, "fit", C, stack)
            data, R = self._people(session, "fit", values, C, _required(Y, self), stack, mask)
            native = Native(session.work("fit", data, session.options("fit", values), makes=_abi.kn_model))
        stale = ("feature_names_in_", "masker_", "_z_cv")
        state = {key: value for key, value in self.__dict__.items() if key not in stale}
        state.update(_native=native, _flat=R is not None and R.flat, _ordered=True, _n_rows=C.n,
                     _rows=self._training_rows(native, C, R), n_features_in_=len(C.all_names),
                     warnings_=list(session.warnings))
        if C.named:
            state["feature_names_in_"] = np.array(C.all_names, dtype=object)
        self.__dict__ = state  # at once: an interrupt leaves the model as it was, or fitted
        return self

    def _training_rows(self, native: Native, C: Covariates, R: Responses | None) -> Array | None:
        """The row of X of each training sample; None: all of them, in order."""
        n, ids = native.count("n_samples"), native.ids()
        if n == C.n and (R is not None or ids is None or C.ids is None or ids == C.ids):
            return None
        stay = ~C.lacking(native.features())
        if R is not None and n != stay.sum():  # and nobody without a response learns
            stay &= np.isfinite(R.values[:, native.kept()]).any(axis=1)
        if ids is not None and C.ids is not None and (len(set(C.ids)) == C.n or n != stay.sum()):
            return rows_of(ids, C, stay)
        return np.flatnonzero(stay)

    def _people(self, session: Session, command: str, values: dict[str, Any], C: Covariates, Y: Any,
                stack: contextlib.ExitStack, mask: Any = None) -> tuple[Handle, Responses | None]:
        """People for a call of the library, and their responses where these are in memory. What images add to the
        values of options is for that call too."""
        masker = None if command == "fit" else self.__dict__.get("masker_")
        if masker is not None and is_images(Y):
            Y = masked(masker, C, Y)
        if is_images(Y) or Y is None and C.path is not None:
            if self.id is not None:
                values["id"] = self.id
            refuse_shuffled(C, Y)
            return stack.enter_context(image_people(session, command, values, C, Y, mask=mask)), None
        R = None if Y is None else responses(Y, id=self.id, who=type(self).__name__)
        if R is not None and command not in ("fit", "cv"):
            R = R.named_for(self.response_names_)
        return stack.enter_context(people(session, C, R)), R

    # ---- what it says of people ----------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False, *, unseen: str = "refuse", known_groups: bool = False) -> Any:
        """What is expected of people with these covariates.

        Parameters
        ----------
        X : as in `fit`
        return_std : bool
            Also return the standard deviation of a person's responses around that: the root of the variance of the
            expectation (``ys2_model``) plus that of people with such covariates, at such a site. It is what z divides
            by; further steps of the calibration (``info_["calibration"]``: few people, skew, tails) come after.
        unseen : {"refuse", "prior"}
            A level of a category that training did not have: refuse, or the average level.
        known_groups : bool
            People may belong to groups of training: a further visit.

        Returns
        -------
        mean : ndarray of float64, n_samples x n_outputs, or n_samples where y of training was a vector
            Right to the precision of float32. NaN of a response that training left out, and of people left out for
            want of a covariate.
        std : the same, with `return_std`

        Examples
        --------
        >>> mean, std = model.predict(patients, return_std=True)
        """
        self._fitted()
        return self._predict(covariates_for(X, self), return_std, unseen=unseen, known_groups=known_groups)

    def _predict(self, C: Covariates, return_std: bool = False, **options: Any) -> Any:
        native, session = self._fitted(), self._session()
        values = {"missing": self.missing, "write": "yhat,ys2" if return_std else "yhat", **options}
        with contextlib.ExitStack() as stack:
            data, _ = self._people(session, "predict", values, C, None, stack)
            handle = session.work("predict", native.handle, data, session.options("predict", values), makes=_abi.kn_scores)
        said = Scores(handle, C, native, self._flat)
        mean = said.yhat.astype(np.float64)
        return (mean, np.sqrt(said.ys2, dtype=np.float64)) if return_std else mean

    def scores(self, X: Any, Y: Any, *, maps: str | Sequence[str] = ("z",), label: Any = None, reference: Any = "cv",
               threshold: float = 1.96, training_rows: str = "cv", unseen: str = "refuse",
               known_groups: bool = False) -> Scores:
        """Reads people against the model: z maps, how abnormal each person is, how well the model predicts.

        Parameters
        ----------
        X, Y : as in `fit`
        maps : names among z, yhat, ys2_model, ys2 and fdr
            Which maps to keep.
        label : str "COLUMN=VALUE" of X, or an array of booleans
            Who counts as abnormal: adds AUC to the summary, and metrics are over the others.
        reference : {"cv", "loo"}, "COLUMN=VALUE" of X, or an array of booleans
            Whom probabilities refer to.
        threshold : float
            ``|z|`` beyond which responses are counted.
        training_rows : {"cv", "plain"}
            What people of training get: their cross-validated z, or as if they were new.
        unseen, known_groups : as in `predict`

        Returns
        -------
        Scores

        Examples
        --------
        >>> scores = model.scores(people, thickness, label="group=patient")
        >>> scores.people.sort_values("p_upper"), scores.summary["AUC"]
        """
        native, session = self._fitted(), self._session()
        maps = [maps] if isinstance(maps, str) or not isinstance(maps, Iterable) else list(maps)
        if not all(name in MAPS for name in maps):
            raise ValueError(f"maps is {', '.join(map(repr, maps))}, expected some of {', '.join(MAPS)}")
        values: dict[str, Any] = {
            "missing": self.missing, "threshold": threshold, "training_rows": training_rows, "unseen": unseen,
            "known_groups": known_groups, "write": maps or "metrics"}
        C = covariates_for(X, self)
        values["label"], values["reference"] = C.flagged(label, "label"), C.flagged(reference, "reference")
        with contextlib.ExitStack() as stack:
            data, R = self._people(session, "score", values, C, _required(Y, self), stack)
            handle = session.work("score", native.handle, data, session.options("score", values), makes=_abi.kn_scores)
        return Scores(handle, C, native, R is not None and R.flat)

    def zscore(self, X: Any, Y: Any, **options: Any) -> Array:
        """Deviations of people from what is expected of them, in standard normal units.

        Parameters
        ----------
        X, Y : as in `fit`
        **options
            Of `scores`: training_rows, unseen, known_groups and the others.

        Returns
        -------
        ndarray of float32, of the shape of Y

        Examples
        --------
        >>> z = model.zscore(patients, thickness)
        """
        return self.scores(X, Y, **options)._map("z", frozen=False)  # nobody else has these scores

    def score_people(self, X: Any, Y: Any, **options: Any) -> Any:
        """How abnormal each person is: the table that ``kronorm score`` writes as abnormality.tsv.

        Parameters
        ----------
        X, Y : as in `fit`
        **options
            Of `scores`: label, reference, threshold and the others.

        Returns
        -------
        DataFrame
            Rows are those of X. p_upper is of the most extreme responses, deviance_p of the whole map, negative_p and
            positive_p of how many are low and high; docs/people.md has every column.

        Examples
        --------
        >>> model.score_people(patients, thickness)[["participant_id", "statistic", "p_upper"]]
        """
        options.setdefault("maps", ())
        return self.scores(X, Y, **options).people

    def score_responses(self, X: Any, Y: Any, **options: Any) -> Any:
        """How well each response is predicted: the table that ``kronorm score`` writes as metrics.tsv.

        Parameters
        ----------
        X, Y : as in `fit`
            Of people whom the model has not seen: of those of training there are none.
        **options
            Of `scores`.

        Returns
        -------
        DataFrame
            A row a response: R2, rho, RMSE, SMSE, EXPV, MSLL and z2, the mean of z squared, which should be 1.

        Examples
        --------
        >>> model.score_responses(others, thickness).set_index("response")["R2"]
        """
        options.setdefault("maps", ())
        return self.scores(X, Y, **options).responses

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """scikit-learn's R2 of `predict`, averaged over responses.

        Cells without a value, and responses that the model left out, count for nothing. How abnormal people are is
        `score_people`.

        Parameters
        ----------
        X, Y : as in `fit`
        sample_weight : array-like, n_samples

        Returns
        -------
        float

        Examples
        --------
        >>> model.score(others, thickness)
        """
        self._fitted()
        if is_images(Y) and "masker_" not in self.__dict__:
            raise ValueError("score is of responses in memory; of images score_responses(X, images) has the R2 of each voxel")
        C = covariates_for(X, self)
        Y = masked(self.masker_, C, Y) if is_images(Y) else _required(Y, self)
        R = responses(Y, id=self.id, who=type(self).__name__).named_for(self.response_names_)
        check_together(C, R)
        if sample_weight is not None and len(sample_weight) != C.n:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[C.n, C.n, len(sample_weight)]}")
        Y, predicted = self._aligned(R), self._predict(C).reshape(C.n, -1)
        if Y.shape != predicted.shape:
            raise ValueError(f"responses have {Y.shape[1]} columns, the model has {predicted.shape[1]}")
        return r2(Y, predicted, sample_weight)

    def adapt(self, X: Any, Y: Any) -> NormativeModel:
        """A model that knows the sites of these healthy people too; this one stays as it is.

        Parameters
        ----------
        X, Y : as in `fit`
            Healthy people of sites that training did not have, five of each at the least; other people than those who
            will be scored. docs/sites.md says who they have to be.

        Returns
        -------
        NormativeModel

        Examples
        --------
        >>> clinic = model.adapt(controls, thickness_of_controls)
        >>> clinic.score_people(patients, thickness)
        """
        native, session = self._fitted(), self._session()
        values = {"missing": self.missing, "seed": self.seed}
        with contextlib.ExitStack() as stack:
            data, _ = self._people(session, "adapt", values, covariates_for(X, self), _required(Y, self), stack)
            options = session.options("adapt", values)
            adapted = Native(session.work("adapt", native.handle, data, options, makes=_abi.kn_model))
        return self._with(adapted, session.warnings)

    to_images, write_scores = to_images, write_scores

    def _with(self, native: Native, warnings: Sequence[str]) -> NormativeModel:
        """The same model as the library has made it anew."""
        out = type(self)(**self.get_params(deep=False))
        out.__dict__.update({**self.__dict__, "_native": native, "warnings_": list(warnings)})
        return out

    def _aligned(self, R: Responses) -> Array:
        """Responses in the order of the model's: by name where both have names."""
        names = self.response_names_
        if names is None or R.names is None or R.names == names:
            return R.values
        place = {name: j for j, name in enumerate(R.names)}
        lacking = [name for name in names if name not in place]
        if lacking:
            raise ValueError(f"Y: no column '{lacking[0]}', which is a response of the model")
        return R.values[:, [place[name] for name in names]]


def _required(Y: Any, model: Any) -> Any:
    if Y is None:
        raise ValueError(f"This {type(model).__name__} estimator requires y to be passed, but the target y is None.")
    return Y


def load(path: str | os.PathLike[str]) -> NormativeModel:
    """The model in a file that `NormativeModel.save`, ``kronorm fit`` or ``kronorm adapt`` wrote.

    Parameters
    ----------
    path : path of a .safetensors

    Returns
    -------
    NormativeModel
        Fitted; its parameters are those it was fitted with.

    Examples
    --------
    >>> model = kronorm.load("model.safetensors")
    """
    model = NormativeModel()
    model._adopt(Native.open(Session(), path))
    return model
