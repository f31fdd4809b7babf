"""Work of the library that ends in files: it is done in a folder of its own, and read back as tables."""
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
from ._room import temporary_folder
from ._responses import Responses
from ._scores import MAPS, rows_of, spread, spread_table
from ._session import Session
from ._tables import read_table

Path = Union[str, "os.PathLike[str]"]
ATTENDANCE = ("participant_id", "status", "why", "extrapolation_pct", "label")  # of people.tsv, before the covariates


class Folder:
    """Files that the library wrote, read when they are asked for and then kept."""

    def __init__(self, path: pathlib.Path) -> None:
        self.tables = {file.stem: read_table(file) for file in sorted(path.glob("*.tsv"))}
        self.maps = {file.stem: np.load(file) for file in sorted(path.glob("*.npy"))}
        found = path / "summary.json"
        self.summary: dict[str, Any] = json.loads(found.read_text()) if found.exists() else {}


class Changes:
    """How people changed between visits, against people whose change is normal.

    Attributes
    ----------
    table : DataFrame
        A row a pair of visits, with the columns of ``change.tsv``.
    z : ndarray of float32, pairs x n_outputs
        Deviations of the changes in standard normal units.
    summary : dict
        What ``summary.json`` has.
    model : NormativeModel
        The model with the reference of change in it: single patients then need no `reference`.
    """

    def __init__(self, folder: Folder, model: Any) -> None:
        self.table, self.summary, self.model = folder.tables["change"], folder.summary, model
        self.z = folder.maps["change_z"]

    def __repr__(self) -> str:
        return f"<changes of {self.z.shape[0]} pairs of visits at {self.z.shape[1]} responses>"


class HeldOut:
    """Everybody, scored by a model that has not seen them.

    Attributes
    ----------
    z : ndarray of float32, n_samples x n_outputs
        Rows are those of X; NaN of whoever was left out for want of a covariate or of any response. Further maps that
        were asked for are in `maps`, by name.
    people, folds : DataFrame
        As ``abnormality.tsv`` and ``folds.tsv``, with the rows and the index of X.
    responses : DataFrame
        As ``metrics.tsv``; `sites` as ``metrics_by_site.tsv``, where there are sites.
    summary : dict
    adapted : HeldOut
        With `leave`: of models that were adapted to what was left out; else None.
    """

    def __init__(self, folder: Folder, X: Covariates, stay: np.ndarray[Any, Any]) -> None:
        rows = rows_of(list(folder.tables["abnormality"]["participant_id"]), X, stay)
        self.maps = {name: spread(values, rows, X.n) if values.ndim == 2 and name in MAPS else values
                     for name, values in folder.maps.items()}
        self.z, self.summary = self.maps["z"], folder.summary
        self.people = spread_table(folder.tables["abnormality"], rows, X)
        self.folds = spread_table(folder.tables["folds"], rows, X) if "folds" in folder.tables else None
        self.responses, self.sites = folder.tables.get("metrics"), folder.tables.get("metrics_by_site")
        self.adapted: HeldOut | None = None

    def __repr__(self) -> str:
        return f"<{len(self.z)} people, each scored by a model that has not seen them>"


def _scored(folder: Folder, X: Covariates, Y: Responses | None) -> np.ndarray[Any, Any]:
    """Who has the covariates that were used, and a response."""
    stay = ~X.lacking(list(folder.tables["people"])[len(ATTENDANCE):])
    if Y is not None:
        stay &= np.isfinite(Y.values).any(axis=1)
    return stay


def _scored_adapted(folds: Any) -> np.ndarray[Any, Any]:
    """Who is no control, of the levels that have controls."""
    control, level = np.asarray(folds["control"]), np.asarray(folds["level"], dtype=str)
    stay: np.ndarray[Any, Any] = (control == 0) & np.isin(level, level[control == 1])
    return stay


@contextlib.contextmanager
def working_folder() -> Iterator[pathlib.Path]:
    """For one call: the library makes `out` in it."""
    with temporary_folder() as path:
        yield pathlib.Path(path)


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _places(at: Any) -> Any:
    """sex=F,site=mean of a dict or a text."""
    return ",".join(f"{key}={value}" for key, value in at.items()) if isinstance(at, dict) else at


class FolderMethods:
    """Methods of a model that the library does by files."""

    def centiles(self, over: str, *, at: Any = None, centiles: Sequence[float] = (5, 25, 50, 75, 95), grid: int = 60,
                 bands: str | None = None, targets: Sequence[str] | str | None = None, training: Any = None, X: Any = None,
                 Y: Any = None, unseen: str = "refuse", table: str = "centiles", folder: Path | None = None,
                 force: bool = False) -> Any:
        """Centile curves of the responses over a covariate, with bands.

        Parameters
        ----------
        over : str
            The covariate: a number such as age.
        at : dict, or str such as "sex=F,site=mean"
            Where the others are.
        centiles : numbers between 0 and 100
        grid : int
            Values of the covariate.
        bands : {None, "none", "model", "jackknife"}
            How well centiles are known. "jackknife" fits again, and needs `training`.
        targets : names or patterns of responses; default all
        training : (X, Y) that the model was fitted to
        X, Y : people to be placed among the curves
        unseen : as in `predict`
        table : {"centiles", "params", "points"}
            Which table: the curves; mean, sd and law along them; or the people among them.
        folder : path
            Where to write what ``kronorm centiles`` writes. Of a model of images it has to be said: curves are maps there,
            ``centile_05.nii.gz`` and the like with a volume for each row of the table that is returned.
        force : bool
            Write to a folder that is not empty.

        Returns
        -------
        DataFrame
            A row for each response, point and centile; of a model of images a row for each volume.

        Examples
        --------
        >>> curves = model.centiles("age", at={"sex": "F"})
        >>> volumes = model_of_images.centiles("age", at={"sex": "F"}, grid=7, folder="curves")
        """
        model: Any = self
        native, session = model._fitted(), model._session()
        maps = native.voxels() is not None
        if maps and folder is None:
            raise ValueError('the curves of a model of images are maps, a file for each centile: centiles(..., folder="curves") '
                             "writes them, and returns the table of their volumes")
        values = _given(over=over, at=_places(at), centiles=centiles, grid=grid, bands=bands, targets=targets, unseen=unseen,
                        missing=model.missing, seed=model.seed, force=force)
        if training is not None and not (isinstance(training, (tuple, list)) and len(training) == 2):
            raise ValueError("training is not a pair, expected (X, Y) that the model was fitted to")
        with contextlib.ExitStack() as stack:
            values["output"] = stack.enter_context(working_folder()) / "out" if folder is None else pathlib.Path(folder)
            handles = [None if given is None else
                       model._people(session, "centiles", dict(values), covariates_for(given[0], model), given[1], stack)[0]
                       for given in (training, None if X is None else (X, Y))]
            info = _abi.kn_centiles_info(size=ctypes.sizeof(_abi.kn_centiles_info))
            session.work("centiles", native.handle, *handles, session.options("centiles", values), ctypes.byref(info))
            tables = {path.stem: read_table(path) for path in sorted(values["output"].glob("*.tsv"))}
        if maps and table == "centiles":
            table = "grid"
        if table not in tables:
            raise ValueError(f"table is {table!r}, there are {', '.join(map(repr, tables))}")
        return tables[table]

    def change(self, X: Any, Y: Any, *, visit: str, reference: Any = None, person: str | None = None,
               interval: str | None = None, threshold: float = 1.96) -> Changes:
        """Has somebody changed from one visit to the next, more than stable people do?

        Parameters
        ----------
        X, Y : as in `fit`, a row a visit
        visit : str
            Column of X with the visit of each row.
        reference : "COLUMN=VALUE" of X, or an array of booleans
            People whose change is normal. Not needed where the model keeps such a reference.
        person : str
            Column that says whose row it is; default the ids.
        interval : str
            Column with the time of each visit; default the model's age.
        threshold : float
            ``|z|`` beyond which responses are counted.

        Returns
        -------
        Changes

        Examples
        --------
        >>> changes = model.change(visits, thickness, visit="session", reference="group=control")
        >>> changes.table, changes.z
        """
        model: Any = self
        native, session = model._fitted(), model._session()
        C: Covariates = covariates_for(X, model)
        values = _given(visit=visit, reference=C.flagged(reference, "reference"), person=person, interval=interval,
                        threshold=threshold, missing=model.missing, seed=model.seed, format="npy")
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(working_folder())
            values["output"], values["save"] = folder / "out", folder / "model.safetensors"
            data, _ = model._people(session, "change", values, C, Y, stack)
            info = _abi.kn_change_info(size=ctypes.sizeof(_abi.kn_change_info))
            session.work("change", native.handle, data, session.options("change", values), ctypes.byref(info))
            kept = model._with(Native.open(Session(), folder / "model.safetensors"), session.warnings)
            out = Changes(Folder(folder / "out"), kept)
        return out

    def report(self, path: Path, X: Any = None, Y: Any = None, *, label: Any = None, force: bool = False,
               **options: Any) -> pathlib.Path:
        """One page to look at, which opens in any browser: the model, and people scored with it.

        Parameters
        ----------
        path : file to write, .html
        X, Y : people of the page; default those of training
        label : as in `scores`
        force : bool
            Write over a file that exists.
        **options
            Those of ``kronorm report``: over, people, show, title, strip_ids, surface, labels, sulc, background,
            max_size, figures.

        Returns
        -------
        pathlib.Path

        Examples
        --------
        >>> model.report("report.html", patients, thickness, label="group=patient")
        """
        model: Any = self
        native, session = model._fitted(), model._session()
        with contextlib.ExitStack() as stack:
            values = {**options, "output": pathlib.Path(path), "force": force, "seed": model.seed}
            if X is not None:
                values["scored"] = stack.enter_context(working_folder()) / "scored"
                C = covariates_for(X, model)
                scoring = {"missing": model.missing, "label": C.flagged(label, "label"), "output": values["scored"]}
                data, _ = model._people(session, "score", scoring, C, Y, stack)
                session.work("score", native.handle, data, session.options("score", scoring), makes=_abi.kn_scores)
            chosen = session.options("report", values)
            made = session.work("report_compute", native.handle, chosen, makes=_abi.kn_report)
            info = _abi.kn_report_info(size=ctypes.sizeof(_abi.kn_report_info))
            session.work("report_write", made, chosen, ctypes.byref(info))
        return pathlib.Path(path)

    def export(self, path: Path, *, points: int = 20, force: bool = False) -> dict[str, float]:
        """Writes a model to give away, without anybody of training in it.

        Parameters
        ----------
        path : path
        points : int
            Synthetic values of each numeric covariate.
        force : bool
            Write over a file that exists.

        Returns
        -------
        dict
            Its errors: the largest, in standard deviations of a response.

        Examples
        --------
        >>> model.export("shared.safetensors")["mean"]
        """
        model: Any = self
        native, session = model._fitted(), model._session()
        options = session.options("export", {"output": path, "points": points, "force": force, "seed": model.seed})
        info = _abi.kn_export_info(size=ctypes.sizeof(_abi.kn_export_info))
        session.work("export", native.handle, options, ctypes.byref(info))
        return {name: getattr(info, name) for name, *_ in info._fields_ if name != "size"}

    def cv(self, X: Any, Y: Any, *, folds: int = 10, leave: str | None = None, controls: int = 10, label: Any = None,
           threshold: float = 1.96, maps: Sequence[str] = ("z",), mask: Any = None) -> HeldOut:
        """Scores everybody by a model that has not seen them: parts of the people in turn, each by a fit of the others
        with these parameters. The model itself need not be fitted, and stays as it is.

        Parameters
        ----------
        X, Y : as in `fit`
        folds : int
            Parts of the people.
        leave : str
            In the place of folds: the people of one level of this column after the other, such as sites.
        controls : int
            With `leave`: people of the level on whom the model is adapted for a second score of the others.
        label, threshold, maps : as in `scores`
        mask : as in `fit_images`, where Y are images

        Returns
        -------
        HeldOut

        Examples
        --------
        >>> NormativeModel().cv(people, thickness, leave="site").sites
        """
        model: Any = self
        session = model._session()
        C = covariates(X, id=model.id, who=type(self).__name__, gaps=model._gaps())
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(working_folder()) / "out"
            values: dict[str, Any] = {**_params.values(model, "cv", C, stack), "label": C.flagged(label, "label")}
            values.update(folds=None if leave else folds, leave=leave, controls=controls if leave else None,
                          threshold=threshold, write=[*maps, "metrics"], format="npy", output=folder)
            if is_masker(mask):
                mask, Y = None, masked(mask, C, Y)
            data, R = model._people(session, "cv", values, C, Y, stack, mask)
            info = _abi.kn_cv_info(size=ctypes.sizeof(_abi.kn_cv_info))
            session.work("cv", data, session.options("cv", values), ctypes.byref(info))
            found = Folder(folder)
            out = HeldOut(found, C, _scored(found, C, R))
            if (folder / "adapted").exists():
                out.adapted = HeldOut(Folder(folder / "adapted"), C, _scored_adapted(out.folds))
        return out
