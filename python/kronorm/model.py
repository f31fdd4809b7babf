"""NormativeModel: a normative model as a scikit-learn estimator."""
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
from ._images import image_data, is_images, masked, refuse_shuffled, to_images, write_scores
from ._library import Handle
from ._native import Native
from ._memory_data import check_together, memory_data, refuse_responses
from ._responses import Responses, responses
from ._scores import MAPS, Scores, rows_of
from ._session import Progress, Session, accepts_aliases
from ._sklearn import BaseEstimator, MultiOutputMixin, RegressorMixin, Tags, r2

Columns = Union[None, str, Sequence[Union[str, int]]]
Array = NDArray[Any]


class NormativeModel(FolderMethods, Fitted, Tags, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Normative model: a Gaussian process model of responses given covariates, fitted to healthy participants.

    A scikit-learn estimator with covariates X and responses Y, one row per participant. The parameters are the options
    of ``kronorm fit`` with the same names and defaults; see `kronorm.options` and docs/reference/commands.md. Columns
    of X are given by name or by position.

    Parameters
    ----------
    id : str, default None
        Column of X with the ids. By default `participant_id`, `sub_id`, `subject_id`, `SubjID`, `subject`, `eid`,
        `src_subject_id`, `record_id` or `id`, or an index of text.
    missing : {"error", "drop", "mean"}, default "error"
        Treatment of missing covariates: raise an error, exclude the participant, or use the training mean. Excluded
        participants keep their rows in all results, with NaN.
    missing_responses : {"impute", "drop"}, default "impute"
        Treatment of NaN in Y: impute from the other responses for the fit, or exclude the response.
    outliers : {"missing", "keep", "error"}, default "missing"
        Values of Y in `fit` that are far beyond all others, such as a thickness of 250 mm: treat them as missing, keep
        them, or raise an error. Scored values are never changed.
    use : columns or patterns of columns, "usual" or "all", default None
        Covariates. "all" is all columns except the ids and those with the name of a group, such as
        diagnosis, or of a visit, such as session. "usual" is the columns among them with a usual name, such as age, sex and site. None is
        "all" for arrays and DataFrames and "usual" for files.
    categorical : columns, default None
        Numeric columns to treat as categorical, such as codes of sex or site.
    numeric : columns, default None
        Columns to treat as numeric although they have two values or the name of a site, such as scanner, or sex. Numeric
        columns of an array are always numeric unless `categorical`, `batch` or `group` names them.
    names : str, default None
        Names of levels in the report, such as "sex:0=female,1=male". The model file keeps them.
    unit : str, default None
        Unit of the responses in the report, such as "mm". The model file keeps it.
    scratch : path, default None
        Folder for a temporary file of responses that do not fit in memory; by default $TMPDIR or /var/tmp.
    method : {"smtgpr", "stgpr", "kronprod", "mtgpr", "kronsum", "convolved"}, default "smtgpr"
        Model variant: all responses jointly with a low-rank basis ("smtgpr"), each response separately ("stgpr"), full
        Kronecker product ("kronprod"), learned response covariance of low rank ("mtgpr"), free covariances of signal
        and noise ("kronsum"), or convolved processes ("convolved").
    components : int or "auto", default "auto"
        Number of components; "auto" chooses it by cross-validation.
    noise : {"structured", "iso", "whitened", "auto"}, default "structured"
        Noise model: signal and noise variances of each component ("structured"), one variance as in the paper ("iso"),
        additional noise of each response and signal outside the basis ("whitened"), or "whitened" only if it improves
        the held-out likelihood ("auto").
    likelihood : {"exact", "paper"}, default "exact"
        Likelihood with ``noise="iso"``: the exact one, or that of the paper.
    preset : {None, "paper"}, default None
        "paper" sets iso noise, paper likelihood, linear+se+iso kernels and joint truncated Newton.
    sample_kernel : str, default None
        Covariance function of the covariates: "additive", or a sum of "linear", "se" and "iso" over all covariates.
        None is "additive": linear, quadratic and smooth terms and one term per categorical covariate; with iso noise it
        is "linear+se+iso". Method "mtgpr" also accepts "additive+iso".
    task_kernel : str, default None
        Covariance function over components, with iso noise only; None is "linear+iso".
    task_scale : {"none", "sqrtN"}, default "none"
        "sqrtN" divides the task features by the square root of the number of participants.
    basis : str, path or ndarray, default "pca"
        Basis of the responses: principal components, an array (n_outputs, n_components) or its .npy file,
        "labels:ATLAS" for one column per atlas label, or "harmonics:SURF.gii,K" for the K smoothest eigenmodes of a
        surface (of each surface if there are two hemispheres).
    basis_axes : {"principal", "given"}, default "principal"
        Components of a basis of your own: principal axes within its span (the leading ones if `components` is set), or
        its columns as given.
    noise_rank : int, default 0
        Method "mtgpr": number of learned noise factors that responses share, the low-rank Kronecker sum; 0 is none.
    ppca : bool, default False
        Method "mtgpr": add a separate signal of each response, proportional to its noise.
    plain : bool, default False
        Method "stgpr": estimate all parameters separately for each response, which is slow.
    shrinkage : int, "auto" or "inf", default "auto"
        Method "kronsum": weight of the structured covariances, as a number of participants. "auto" chooses among 0,
        100, 300, 1000 and "inf" by held-out likelihood.
    on : {"components", "responses"}, default "components"
        Method "convolved": model the components of the basis, or up to 1000 responses directly.
    smooth : columns, default None
        Method "convolved": at most 4 continuous covariates with smooth effects; None is all numeric ones. All
        covariates also have linear effects.
    latent : int, default 1
        Method "convolved": number of latent processes.
    widths : {"own", "shared"}, default "own"
        Method "convolved": separate smoothness of each task, or that of its latent process (the linear model of
        coregionalisation).
    inducing : {"variational", "pitc", "none"}, default "variational"
        Method "convolved": inducing functions with the variational bound, PITC, or the dense model for small problems.
    inducing_points : int, default 10
        Method "convolved": number of inducing inputs per latent process.
    calibrate : {"auto", "none", "student", "full"}, default "auto"
        Transform from residuals to z-scores. "student" allows for a noise variance estimated from few participants.
        "auto" adds covariate-dependent noise, skewness and heavy tails if they improve the held-out likelihood; "full"
        always adds them.
    standardise : bool, default True
        Scale covariates and responses to mean 0 and standard deviation 1.
    group : column, "auto" or "none", default "auto"
        Rows that share noise, such as visits of one participant; "auto" uses repeated ids or repeated stimuli.
    batch : columns, "auto" or "none", default "auto"
        Categorical covariates that may take new values in new participants, such as site; see `adapt`. "auto" uses
        columns with the name of a site, such as scanner (docs/reference/inputs.md).
    interaction : str or list of str, default None
        Slopes that differ between levels, such as "site:age".
    optimiser : {"nested", "tnewton", "lbfgs"}, default "nested"
        Optimiser of the likelihood; the last two require iso noise.
    restarts : int, default 0
        Number of further starting points of the search.
    max_evals : int, default -1
        Maximum number of full-size likelihood evaluations per search. -1 is no limit; 0 evaluates the starting point
        only.
    max_seconds : float, default 0
        Maximum duration of the search, which then returns the best point so far; 0 is no limit.
    rank : int, "auto" or "full", default "auto"
        Low-rank approximation of the covariance between participants: where a low rank suffices ("auto"), never
        ("full"), or with at most this rank. For sums other than "additive", "auto" applies from 1000 participants.
    theta : str or sequence of float, default None
        Starting values with iso noise: log standard deviations of task terms, sample terms and noise.
    rho : float, default None
        Starting value of structured noise and "stgpr", from 0 to 1: proportion of se relative to linear.
    length : float, default None
        Starting value of structured noise and "stgpr": length-scale of se.
    folds : int, default 10
        Folds of the cross-validated z-scores of the training sample (`cv_zscores_`), the reference for new
        participants. 0 makes no reference sample.
    top : float, default 0.05
        Proportion of responses in the extreme-value statistic.
    strip_ids : bool, default False
        Do not store training ids in the model.
    seed : int, default 1
        Random seed: the same seed gives the same model.
    threads : int, default None
        Number of threads; None is all processors.
    memory : str or int, default None
        Memory limit, such as "8G"; None is half of the available memory.
    progress : bool or callable, default None
        True shows a tqdm progress bar. A function is called with stage, done, total and the log-likelihood.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if it had names.
    n_outputs_ : int
        Number of responses.
    response_names_ : list of str or None
        Names of the responses.
    components_ : ndarray of shape (n_components, n_outputs)
        Basis in standardised units.
    n_components_ : int
        Number of components.
    lml_ : float
        Log marginal likelihood.
    noise_ : ndarray of shape (n_outputs,)
        Noise variance of each response, in its units.
    cv_zscores_ : ndarray of shape (n_samples, n_outputs)
        Cross-validated z-scores of the training sample.
    ids_ : list of str or None
        Ids of the training sample.
    info_ : dict
        Complete description of the model.
    warnings_ : list of str
        Warnings of `fit` or `adapt`.

    Notes
    -----
    A fitted model is immutable, so threads may share it. Pickle, copy and joblib preserve the bytes of the model file.

    Examples
    --------
    >>> model = NormativeModel(components=20).fit(participants[["age", "sex", "site"]], thickness)
    >>> model.score_participants(patients, thickness_of_patients)
    """

    def __init__(
        self, *, id: str | None = None, missing: str = "error", missing_responses: str = "impute", outliers: str = "missing",
        use: Columns = None,
        categorical: Columns = None, numeric: Columns = None, names: str | None = None, unit: str | None = None,
        scratch: str | None = None, method: str = "smtgpr",
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
        self.id, self.missing, self.missing_responses, self.outliers, self.use = id, missing, missing_responses, outliers, use
        self.categorical, self.numeric, self.names, self.unit, self.scratch = categorical, numeric, names, unit, scratch
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
        """Fit the model to healthy participants.

        Parameters
        ----------
        X : DataFrame, array-like of numbers, or dict of columns, with n_samples rows
            Covariates. Columns of text, categories and booleans are categorical. Ids are a column, an index or an index
            level named `participant_id` or the like (see `id`), or an index of text.
        Y : DataFrame, Series or array-like of shape (n_samples, n_outputs), or images
            Responses, one row per participant in the order of X. float32 and float64 are read without a copy. NaN is
            missing.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> model = NormativeModel(batch="site").fit(participants[["age", "sex", "site"]], thickness)
        """
        return self._fit(X, Y)

    def _fit(self, X: Any, Y: Any, mask: Any = None) -> NormativeModel:
        session = self._session()
        C = covariates(X, id=self.id, estimator=type(self).__name__, gaps=self._gaps())
        if C.n == 1 and C.path is None and hasattr(Y, "__len__") and len(Y) == 1:
            raise ValueError(f"Found array with 1 sample(s) (shape=(1, {len(C.all_names)})) while a minimum of 3 is required.")
        with contextlib.ExitStack() as stack:
            values = _params.values(self, "fit", C, stack)
            data, R = self._data(session, "fit", values, C, _required(Y, self), stack, mask)
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
        """The row of X of each training participant; None: all rows, in order."""
        n, ids = native.count("n_samples"), native.ids()
        if n == C.n and (R is not None or ids is None or C.ids is None or ids == C.ids):
            return None
        stay = ~C.lacking(native.features())
        if R is not None and n != stay.sum():  # participants without a finite response are not in the training sample
            stay &= np.isfinite(R.values[:, native.kept()]).any(axis=1)
        if ids is not None and C.ids is not None and (len(set(C.ids)) == C.n or n != stay.sum()):
            return rows_of(ids, C, stay)
        return np.flatnonzero(stay)

    def _data(self, session: Session, command: str, values: dict[str, Any], C: Covariates, Y: Any,
              stack: contextlib.ExitStack, mask: Any = None) -> tuple[Handle, Responses | None]:
        """kn_data of participants for a call of the library, and their responses if they are in memory. For images,
        `values` gets the options that name their files."""
        masker = None if command == "fit" else self.__dict__.get("masker_")
        if masker is not None and is_images(Y):
            Y = masked(masker, C, Y)
        if is_images(Y) or Y is None and C.path is not None:
            if self.id is not None:
                values["id"] = self.id
            refuse_shuffled(C, Y)
            return stack.enter_context(image_data(session, command, values, C, Y, mask=mask)), None
        R = None if Y is None else responses(Y, id=self.id, estimator=type(self).__name__)
        if C.path is not None and command in ("fit", "cv"):  # as for a file that the library reads
            values.setdefault("use", "usual")
        elif R is not None and command in ("fit", "cv") and self.use is None:
            refuse_responses(C, R)
        if R is not None and command not in ("fit", "cv"):
            R = R.named_for(self.response_names_)
        return stack.enter_context(memory_data(session, C, R)), R

    # ---- predictions and scores ----------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False, *, unseen: str = "error", known_groups: bool = False) -> Any:
        """Predict responses from covariates.

        Parameters
        ----------
        X : see `fit`
            Covariates of the participants.
        return_std : bool, default False
            Also return the total standard deviation of a response: the square root of the model variance (`ys2_model`)
            plus the noise variance at these covariates and this site. z-scores divide by it before further calibration
            steps (``info_["calibration"]``: small samples, skewness, tails).
        unseen : {"error", "prior"}, default "error"
            Treatment of levels that are not in the training sample: raise an error, or use the average level and add
            the variance between levels.
        known_groups : bool, default False
            Use what is known from the training sample about groups of repeated measures, such as earlier visits.

        Returns
        -------
        mean : ndarray of float64, of shape (n_samples, n_outputs), or (n_samples,) if y was a vector
            Predictive mean, exact to float32 precision. NaN for excluded responses and participants.
        std : ndarray
            Total standard deviation, only if `return_std`.

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
            data, _ = self._data(session, "predict", values, C, None, stack)
            handle = session.work("predict", native.handle, data, session.options("predict", values), makes=_abi.kn_scores)
        scores = Scores(handle, C, native, self._flat)
        mean = scores.yhat.astype(np.float64)
        return (mean, np.sqrt(scores.ys2, dtype=np.float64)) if return_std else mean

    @accepts_aliases("score")
    def scores(self, X: Any, Y: Any, *, maps: str | Sequence[str] = ("z",), cases: Any = None, reference: Any = "cv",
               threshold: float = 1.96, training_rows: str = "cv", unseen: str = "error",
               known_groups: bool = False) -> Scores:
        """Compute z-scores, statistics of abnormality and accuracy metrics in one pass.

        Parameters
        ----------
        X, Y : see `fit`
            Covariates and responses of the participants.
        maps : str or sequence of str, default ("z",)
            Maps to keep: z, yhat, ys2_model, ys2 and fdr.
        cases : "COLUMN=VALUE" of X or array of bool, default None
            Cases such as patients: the summary then has AUCs, and metrics exclude the cases. `label` is an alias.
        reference : {"cv", "loo"}, "COLUMN=VALUE" of X, or array of bool, default "cv"
            Reference of the p-values: the training sample by cross-validation or (optimistic) leave-one-out, or these
            rows.
        threshold : float, default 1.96
            Responses with ``|z|`` above it are counted.
        training_rows : {"cv", "plain"}, default "cv"
            Training participants get their cross-validated z-scores ("cv"), or are treated as new ("plain").
        unseen, known_groups : see `predict`
            Treatment of unknown levels, and of groups of the training sample.

        Returns
        -------
        Scores
            Maps and tables.

        Examples
        --------
        >>> scores = model.scores(participants, thickness, cases="group=patient")
        >>> scores.participants.sort_values("extreme_z_p"), scores.summary["AUC"]
        """
        native, session = self._fitted(), self._session()
        maps = [maps] if isinstance(maps, str) or not isinstance(maps, Iterable) else list(maps)
        if not all(name in MAPS for name in maps):
            raise ValueError(f"maps is {', '.join(map(repr, maps))}, but must be some of {', '.join(MAPS)}")
        values: dict[str, Any] = {
            "missing": self.missing, "threshold": threshold, "training_rows": training_rows, "unseen": unseen,
            "known_groups": known_groups, "write": maps or "metrics"}
        C = covariates_for(X, self)
        values["cases"], values["reference"] = C.flagged(cases, "cases"), C.flagged(reference, "reference")
        with contextlib.ExitStack() as stack:
            data, R = self._data(session, "score", values, C, _required(Y, self), stack)
            handle = session.work("score", native.handle, data, session.options("score", values), makes=_abi.kn_scores)
        return Scores(handle, C, native, R is not None and R.flat)

    def zscore(self, X: Any, Y: Any, **options: Any) -> Array:
        """Compute z-scores.

        Parameters
        ----------
        X, Y : see `fit`
            Covariates and responses of the participants.
        **options
            Arguments of `scores`, such as training_rows, unseen and known_groups.

        Returns
        -------
        ndarray of float32, with the shape of Y
            Calibrated z-scores.

        Examples
        --------
        >>> z = model.zscore(patients, thickness)
        """
        return self.scores(X, Y, **options)._map("z", frozen=False)  # the array is not shared

    def score_participants(self, X: Any, Y: Any, **options: Any) -> Any:
        """Compute statistics of abnormality, one row per participant: the table abnormality.tsv of ``kronorm score``.

        Parameters
        ----------
        X, Y : see `fit`
            Covariates and responses of the participants.
        **options
            Arguments of `scores`, such as cases, reference and threshold.

        Returns
        -------
        DataFrame
            Rows of X. `extreme_z_p` is the p-value of the most extreme responses, `deviance_p` of the whole map,
            `n_low_p` and `n_high_p` of the numbers of low and high responses. docs/explanation/interpreting.md
            describes every column.

        Examples
        --------
        >>> model.score_participants(patients, thickness)[["participant_id", "extreme_z", "extreme_z_p"]]
        """
        options.setdefault("maps", ())
        return self.scores(X, Y, **options).participants

    def score_responses(self, X: Any, Y: Any, **options: Any) -> Any:
        """Compute accuracy metrics, one row per response: the table metrics.tsv of ``kronorm score``.

        Parameters
        ----------
        X, Y : see `fit`
            Participants outside the training sample; training participants are not counted.
        **options
            Arguments of `scores`.

        Returns
        -------
        DataFrame
            R2, rho, RMSE, SMSE, EXPV, MSLL, gain and z2 of each response. z2, the mean squared z-score, should be 1.

        Examples
        --------
        >>> model.score_responses(others, thickness).set_index("response")["R2"]
        """
        options.setdefault("maps", ())
        return self.scores(X, Y, **options).responses

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Compute the R2 of `predict` as scikit-learn does, averaged over responses.

        Missing cells and excluded responses are not counted. For the abnormality of participants see
        `score_participants`.

        Parameters
        ----------
        X, Y : see `fit`
            Covariates and responses of the participants.
        sample_weight : array-like of shape (n_samples,), default None
            Weights of the participants.

        Returns
        -------
        float
            Mean R2.

        Examples
        --------
        >>> model.score(others, thickness)
        """
        self._fitted()
        if is_images(Y) and "masker_" not in self.__dict__:
            raise ValueError("score needs responses in memory; for images, use score_responses(X, images)")
        C = covariates_for(X, self)
        Y = masked(self.masker_, C, Y) if is_images(Y) else _required(Y, self)
        R = responses(Y, id=self.id, estimator=type(self).__name__).named_for(self.response_names_)
        check_together(C, R)
        if sample_weight is not None and len(sample_weight) != C.n:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[C.n, C.n, len(sample_weight)]}")
        Y, predicted = self._aligned(R), self._predict(C).reshape(C.n, -1)
        if Y.shape != predicted.shape:
            raise ValueError(f"responses have {Y.shape[1]} columns, but the model has {predicted.shape[1]}")
        return r2(Y, predicted, sample_weight)

    def adapt(self, X: Any, Y: Any) -> NormativeModel:
        """Adapt the model to new sites. The model itself is not changed.

        Parameters
        ----------
        X, Y : see `fit`
            Healthy controls from sites that are not in the training sample: at least 5 per site, preferably 10 or more.
            They must not be among the participants to be scored. docs/explanation/site_effects.md says how to choose
            them.

        Returns
        -------
        NormativeModel
            The adapted model.

        Examples
        --------
        >>> clinic = model.adapt(controls, thickness_of_controls)
        >>> clinic.score_participants(patients, thickness)
        """
        native, session = self._fitted(), self._session()
        values = {"missing": self.missing, "seed": self.seed}
        with contextlib.ExitStack() as stack:
            data, _ = self._data(session, "adapt", values, covariates_for(X, self), _required(Y, self), stack)
            options = session.options("adapt", values)
            adapted = Native(session.work("adapt", native.handle, data, options, makes=_abi.kn_model))
        return self._with(adapted, session.warnings)

    to_images, write_scores = to_images, write_scores

    def _with(self, native: Native, warnings: Sequence[str]) -> NormativeModel:
        """A copy of this estimator with another fitted model of the library."""
        out = type(self)(**self.get_params(deep=False))
        out.__dict__.update({**self.__dict__, "_native": native, "warnings_": list(warnings)})
        return out

    def _aligned(self, R: Responses) -> Array:
        """Responses in the order of the model, matched by name if both have names."""
        names = self.response_names_
        if names is None or R.names is None or R.names == names:
            return R.values
        position = {name: j for j, name in enumerate(R.names)}
        lacking = [name for name in names if name not in position]
        if lacking:
            raise ValueError(f"Y has no column '{lacking[0]}' (a response of the model)")
        return R.values[:, [position[name] for name in names]]


def _required(Y: Any, model: Any) -> Any:
    if Y is None:
        raise ValueError(f"This {type(model).__name__} estimator requires y to be passed, but the target y is None.")
    return Y


def load(path: str | os.PathLike[str]) -> NormativeModel:
    """Read a model file of `NormativeModel.save`, ``kronorm fit`` or ``kronorm adapt``.

    Parameters
    ----------
    path : str or path
        A .safetensors file.

    Returns
    -------
    NormativeModel
        Fitted, with the parameters of its fit.

    Examples
    --------
    >>> model = kronorm.load("model.safetensors")
    """
    model = NormativeModel()
    model._adopt(Native.open(Session(), path))
    return model
