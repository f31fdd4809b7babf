"""Commands of the library that write files: they run in a temporary folder, whose tables and maps are then read."""
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
from typing import Any, Iterator, Sequence, Union

import numpy as np

from . import _abi, _params
from ._covariates import Covariates, covariates, covariates_for
from ._images import is_masker, masked
from ._native import Native
from ._temporary import temporary_folder
from ._responses import Responses
from ._scores import MAPS, rows_of, spread, spread_table
from ._session import Session, accepts_aliases
from ._tables import read_table

Path = Union[str, "os.PathLike[str]"]
ATTENDANCE = ("participant_id", "status", "why", "extrapolation_pct", "label")  # of scored_participants.tsv


class Folder:
    """Tables, maps and summary of a folder that the library wrote."""

    def __init__(self, path: pathlib.Path) -> None:
        self.tables = {file.stem: read_table(file) for file in sorted(path.glob("*.tsv"))}
        self.maps = {file.stem: np.load(file) for file in sorted(path.glob("*.npy"))}
        found = path / "summary.json"
        self.summary: dict[str, Any] = json.loads(found.read_text()) if found.exists() else {}


class Changes:
    """Changes of participants between visits, compared with a reference sample.

    Attributes
    ----------
    table : DataFrame
        The table change.tsv, one row per pair of visits.
    z : ndarray of float32, of shape (n_pairs, n_outputs)
        z-scores of the changes.
    summary : dict
        The content of summary.json.
    model : NormativeModel
        The model with the stored reference sample of change, so that single patients need no `reference`.
    """

    def __init__(self, folder: Folder, model: Any) -> None:
        self.table, self.summary, self.model = folder.tables["change"], folder.summary, model
        self.z = folder.maps["change_z"]

    def __repr__(self) -> str:
        return f"<changes of {self.z.shape[0]} pairs of visits at {self.z.shape[1]} responses>"


class HeldOut:
    """Scores of participants by models that were fitted without them.

    Attributes
    ----------
    z : ndarray of float32, of shape (n_samples, n_outputs)
        z-scores in the rows of X; NaN for participants without a covariate or any response. `maps` has all requested
        maps by name.
    participants, folds : DataFrame
        The tables abnormality.tsv and folds.tsv with the rows and the index of X.
    responses, sites : DataFrame
        The tables metrics.tsv and metrics_by_site.tsv; `sites` is None without sites.
    summary : dict
        The content of summary.json.
    adapted : HeldOut or None
        With `leave_out`, the scores by models that were adapted to the held-out level.
    """

    def __init__(self, folder: Folder, X: Covariates, stay: np.ndarray[Any, Any]) -> None:
        rows = rows_of(list(folder.tables["abnormality"]["participant_id"]), X, stay)
        self.maps = {name: spread(values, rows, X.n) if values.ndim == 2 and name in MAPS else values
                     for name, values in folder.maps.items()}
        self.z, self.summary = self.maps["z"], folder.summary
        self.participants = spread_table(folder.tables["abnormality"], rows, X)
        self.folds = spread_table(folder.tables["folds"], rows, X) if "folds" in folder.tables else None
        self.responses, self.sites = folder.tables.get("metrics"), folder.tables.get("metrics_by_site")
        self.adapted: HeldOut | None = None

    def __repr__(self) -> str:
        return f"<held-out scores of {len(self.z)} participants>"


def _scored(folder: Folder, X: Covariates, Y: Responses | None) -> np.ndarray[Any, Any]:
    """Mask of the rows that have the covariates of the model and a response."""
    stay = ~X.lacking(list(folder.tables["scored_participants"])[len(ATTENDANCE):])
    if Y is not None:
        stay &= np.isfinite(Y.values).any(axis=1)
    return stay


def _scored_adapted(folds: Any) -> np.ndarray[Any, Any]:
    """Mask of the rows that are not controls, in levels that have controls."""
    control, level = np.asarray(folds["control"]), np.asarray(folds["level"], dtype=str)
    stay: np.ndarray[Any, Any] = (control == 0) & np.isin(level, level[control == 1])
    return stay


@contextlib.contextmanager
def working_folder() -> Iterator[pathlib.Path]:
    """A temporary folder for one call, in which the library creates `out`."""
    with temporary_folder() as path:
        yield pathlib.Path(path)


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _places(at: Any) -> Any:
    """The option {at} from a dict or a text: sex=F,site=mean."""
    return ",".join(f"{key}={value}" for key, value in at.items()) if isinstance(at, dict) else at


class FolderMethods:
    """Methods of a model that use files of the library."""

    def centiles(self, over: str, *, at: Any = None, centiles: Sequence[float] = (5, 25, 50, 75, 95), grid: int = 60,
                 bands: str | None = None, targets: Sequence[str] | str | None = None, training: Any = None, X: Any = None,
                 Y: Any = None, unseen: str = "error", table: str = "centiles", folder: Path | None = None,
                 force: bool = False) -> Any:
        """Compute centile curves of the responses over a covariate, with confidence bands.

        Parameters
        ----------
        over : str
            A numeric covariate, such as age.
        at : dict or str such as "sex=F,site=mean", default None
            Values of the other covariates. By default numeric ones are at their training mean, a covariate of two
            levels has one curve per level, and other categorical covariates are at their mean.
        centiles : sequence of float, default (5, 25, 50, 75, 95)
            Centiles, between 0 and 100.
        grid : int, default 60
            Number of values of the covariate, from the minimum to the maximum of the training sample.
        bands : {None, "none", "model", "jackknife"}, default None
            Uncertainty of the centiles: from the variance of the model, or from eight refits ("jackknife"), which need
            `training`. None is "jackknife" if `training` is given, else "model".
        targets : names or patterns of responses, default None
            Responses with curves; None is all.
        training : (X, Y), default None
            The training sample.
        X, Y : see `fit`, default None
            Participants to place among the curves.
        unseen : see `predict`
            Treatment of levels that are not in the training sample.
        table : {"centiles", "params", "points"}, default "centiles"
            Table to return: the curves, the parameters of the distribution along them, or the participants among them.
        folder : path, default None
            Folder for the files of ``kronorm centiles``. Required for a model of images, whose curves are maps: files
            such as centile_05.nii.gz with one volume per row of the returned table.
        force : bool, default False
            Write to a folder that is not empty.

        Returns
        -------
        DataFrame
            One row per response, point and centile; for a model of images, one row per volume.

        Examples
        --------
        >>> curves = model.centiles("age", at={"sex": "F"})
        >>> volumes = model_of_images.centiles("age", at={"sex": "F"}, grid=7, folder="curves")
        """
        model: Any = self
        native, session = model._fitted(), model._session()
        maps = native.voxels() is not None
        if maps and folder is None:
            raise ValueError('the centiles of an image model are maps: name a folder for them, as in centiles(..., folder="curves")')
        values = _given(over=over, at=_places(at), centiles=centiles, grid=grid, bands=bands, targets=targets, unseen=unseen,
                        missing=model.missing, seed=model.seed, force=force)
        if training is not None and not (isinstance(training, (tuple, list)) and len(training) == 2):
            raise ValueError("training is not a pair, expected (X, Y) of the training sample")
        with contextlib.ExitStack() as stack:
            values["output"] = stack.enter_context(working_folder()) / "out" if folder is None else pathlib.Path(folder)
            handles = [None if given is None else
                       model._data(session, "centiles", dict(values), covariates_for(given[0], model), given[1], stack)[0]
                       for given in (training, None if X is None else (X, Y))]
            info = _abi.kn_centiles_info(size=ctypes.sizeof(_abi.kn_centiles_info))
            session.work("centiles", native.handle, *handles, session.options("centiles", values), ctypes.byref(info))
            tables = {path.stem: read_table(path) for path in sorted(values["output"].glob("*.tsv"))}
        if maps and table == "centiles":
            table = "grid"
        if table not in tables:
            raise ValueError(f"table is {table!r}, there are {', '.join(map(repr, tables))}")
        return tables[table]

    def change(self, X: Any, Y: Any, *, visit: str, reference: Any = None, participant: str | None = None,
               interval: str | None = None, threshold: float = 1.96) -> Changes:
        """Test whether participants changed between visits more than stable participants do.

        Parameters
        ----------
        X, Y : see `fit`
            One row per visit.
        visit : str
            Column of X with the visit of each row.
        reference : "COLUMN=VALUE" of X or array of bool, default None
            Participants whose change is normal; not needed if the model has a stored reference sample of change.
        participant : str, default None
            Column with the participant of each row; None is the ids.
        interval : str, default None
            Column with the time of each visit; None is the model's age.
        threshold : float, default 1.96
            Responses with ``|z|`` above it are counted.

        Returns
        -------
        Changes
            Table and maps of the changes.

        Examples
        --------
        >>> changes = model.change(visits, thickness, visit="session", reference="group=control")
        >>> changes.table, changes.z
        """
        model: Any = self
        native, session = model._fitted(), model._session()
        C: Covariates = covariates_for(X, model)
        values = _given(visit=visit, reference=C.flagged(reference, "reference"), participant=participant, interval=interval,
                        threshold=threshold, missing=model.missing, seed=model.seed, format="npy")
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(working_folder())
            values["output"], values["save"] = folder / "out", folder / "model.safetensors"
            data, _ = model._data(session, "change", values, C, Y, stack)
            info = _abi.kn_change_info(size=ctypes.sizeof(_abi.kn_change_info))
            session.work("change", native.handle, data, session.options("change", values), ctypes.byref(info))
            kept = model._with(Native.open(Session(), folder / "model.safetensors"), session.warnings)
            out = Changes(Folder(folder / "out"), kept)
        return out

    @accepts_aliases("score")
    def report(self, path: Path, X: Any = None, Y: Any = None, *, cases: Any = None, force: bool = False,
               **options: Any) -> pathlib.Path:
        """Write an HTML report of the model and of participants scored with it.

        Parameters
        ----------
        path : path
            File to write, .html.
        X, Y : see `fit`, default None
            Participants of the report; None is the training sample.
        cases : see `scores`
            `label` is an alias.
        force : bool, default False
            Replace an existing file.
        **options
            Options of ``kronorm report``: over, participants, show, title, strip_ids, surface, labels, sulc, background,
            max_size, figures.

        Returns
        -------
        pathlib.Path
            The file.

        Examples
        --------
        >>> model.report("report.html", patients, thickness, cases="group=patient")
        """
        model: Any = self
        native, session = model._fitted(), model._session()
        with contextlib.ExitStack() as stack:
            values = {**options, "output": pathlib.Path(path), "force": force, "seed": model.seed}
            if X is not None:
                values["scored"] = stack.enter_context(working_folder()) / "scored"
                C = covariates_for(X, model)
                scoring = {"missing": model.missing, "cases": C.flagged(cases, "cases"), "output": values["scored"]}
                data, _ = model._data(session, "score", scoring, C, Y, stack)
                session.work("score", native.handle, data, session.options("score", scoring), makes=_abi.kn_scores)
            chosen = session.options("report", values)
            made = session.work("report_compute", native.handle, chosen, makes=_abi.kn_report)
            info = _abi.kn_report_info(size=ctypes.sizeof(_abi.kn_report_info))
            session.work("report_write", made, chosen, ctypes.byref(info))
        return pathlib.Path(path)

    def export(self, path: Path, *, points: int = 20, max_leverage: float = 0.15, force: bool = False) -> dict[str, float]:
        """Write a shareable model without individual data.

        Parameters
        ----------
        path : path
            File to write, .safetensors.
        points : int, default 20
            Number of synthetic values of each numeric covariate.
        max_leverage : float, default 0.15
            Largest share of a training participant's map that the file may determine; 1: no limit.
        force : bool, default False
            Replace an existing file.

        Returns
        -------
        dict
            Largest differences from the original model, in standard deviations of a response.

        Examples
        --------
        >>> model.export("shared.safetensors")["mean"]
        """
        model: Any = self
        native, session = model._fitted(), model._session()
        options = session.options("export", {"output": path, "points": points, "max_leverage": max_leverage, "force": force, "seed": model.seed})
        info = _abi.kn_export_info(size=ctypes.sizeof(_abi.kn_export_info))
        session.work("export", native.handle, options, ctypes.byref(info))
        return {name: getattr(info, name) for name, *_ in info._fields_ if name != "size"}

    @accepts_aliases("cv")
    def cv(self, X: Any, Y: Any, *, folds: int = 10, leave_out: str | None = None, controls: int = 10, cases: Any = None,
           threshold: float = 1.96, maps: Sequence[str] = ("z",), mask: Any = None) -> HeldOut:
        """Cross-validate: score every participant with a model fitted without their fold.

        The fits use the parameters of this estimator, which need not be fitted and is not changed.

        Parameters
        ----------
        X, Y : see `fit`
            Covariates and responses of the participants.
        folds : int, default 10
            Number of folds.
        leave_out : str, default None
            Hold out each level of this column in turn, such as each site, instead of random folds. `leave` is an alias.
        controls : int, default 10
            With `leave_out`: number of participants of the level to whom the model is adapted for a second score of the
            others. 0 makes no second score.
        cases, threshold, maps : see `scores`
            `label` is an alias of `cases`.
        mask : see `fit_images`
            If Y are images.

        Returns
        -------
        HeldOut
            Maps and tables.

        Examples
        --------
        >>> NormativeModel().cv(participants, thickness, leave_out="site").sites
        """
        model: Any = self
        session = model._session()
        C = covariates(X, id=model.id, estimator=type(self).__name__, gaps=model._gaps())
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(working_folder()) / "out"
            values: dict[str, Any] = {**_params.values(model, "cv", C, stack), "cases": C.flagged(cases, "cases")}
            values.update(folds=None if leave_out else folds, leave_out=leave_out, controls=controls if leave_out else None,
                          threshold=threshold, write=[*maps, "metrics"], format="npy", output=folder)
            if is_masker(mask):
                mask, Y = None, masked(mask, C, Y)
            data, R = model._data(session, "cv", values, C, Y, stack, mask)
            info = _abi.kn_cv_info(size=ctypes.sizeof(_abi.kn_cv_info))
            session.work("cv", data, session.options("cv", values), ctypes.byref(info))
            found = Folder(folder)
            out = HeldOut(found, C, _scored(found, C, R))
            if (folder / "adapted").exists():
                out.adapted = HeldOut(Folder(folder / "adapted"), C, _scored_adapted(out.folds))
        return out
