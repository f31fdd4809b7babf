"""Models of brain images: fit, score into files, and convert numbers to images."""
from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi
from ._covariates import Covariates, covariates, covariates_for
from ._image_files import image_data, in_rows, is_images, refuse_shuffled
from ._library import lib
from ._nibabel_files import nibabel
from ._session import accepts_aliases

if TYPE_CHECKING:
    from .model import NormativeModel

__all__ = ["fit_images", "image_data", "is_images", "masked", "refuse_shuffled", "to_images", "write_scores"]


def fit_images(participants: Any, images: Any, mask: Any = None, **parameters: Any) -> NormativeModel:
    """Fit a normative model to brain images.

    Parameters
    ----------
    participants : path, or X as in `NormativeModel.fit`
        A .tsv or .csv file, such as a BIDS participants.tsv, or a table of covariates.
    images : path, pattern, list, dict, or nibabel image
        A 4D image, a list of images in a .txt file, a pattern of paths, a list of paths or nibabel images in the order
        of the participants, or a dict from id to image. For two hemispheres, each item is a pair. The library reads
        files in portions that fit in memory. Paths with one label sub-XXX each belong to the participants with these
        ids. A pattern, a .txt file and a dict may include images of other participants.
    mask : path, nibabel image or masker, default None
        Nonzero voxels are used. A fitted masker with transform and inverse_transform, such as nilearn's, works with all
        images except a .txt file. None is all voxels that are not constant and have a value in at least 10 images (with
        fewer images or ``missing_responses="drop"``, in all of them).
    **parameters
        Parameters of `NormativeModel`.

    Returns
    -------
    NormativeModel
        Fitted, with `masker_` if there was a masker. Its methods accept images as Y.

    Examples
    --------
    >>> model = kronorm.fit_images("participants.tsv", "derivatives/*/*_thickness.nii.gz", "mask.nii.gz", batch="site")
    >>> z = model.zscore("patients.tsv", "patients.txt")
    >>> model.to_images(z)[0].to_filename("z.nii.gz")
    """
    from .model import NormativeModel

    if not is_images(images):
        raise ValueError(f"images are of type {type(images).__name__}, expected paths or nibabel images (for "
                         "arrays, use NormativeModel.fit)")
    model = NormativeModel(**parameters)
    if not is_masker(mask):
        return model._fit(participants, images, mask)
    X = covariates(participants, id=model.id, gaps=True)
    model._fit(participants, masked(mask, X, images))
    model.masker_ = mask
    return model


# ---- maskers --------------------------------------------------------------------------------------


def is_masker(mask: Any) -> bool:
    return hasattr(mask, "transform") and hasattr(mask, "inverse_transform")


def masked(masker: Any, X: Covariates, images: Any) -> np.ndarray[Any, Any]:
    """The values of a masker, one row per image, in the rows of X."""
    values = np.asarray(masker.transform(in_rows(X, images)))
    if values.ndim != 2:
        raise ValueError(f"the masker made an array of shape {values.shape}, expected one row of voxels per image")
    return values


# ---- numbers as images ----------------------------------------------------------------------------


def to_images(model: NormativeModel, values: Any, *, outside: float = np.nan) -> Any:
    """Convert values of the responses to images in the space of the model.

    Parameters
    ----------
    values : array-like of shape (n, n_outputs) or (n_outputs,)
        Such as z-scores.
    outside : float, default NaN
        Value of voxels outside the mask. A masker uses its own.

    Returns
    -------
    list of n images, or one image
        NIfTI for volumes, GIFTI for surfaces; pairs for two hemispheres.

    Examples
    --------
    >>> model.to_images(model.zscore(X, images))[0].to_filename("z.nii.gz")
    """
    native = model._fitted()
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "biuf":
        raise ValueError(f"values of dtype {numbers.dtype}, expected numbers")
    n_outputs = native.count("n_responses")
    if numbers.ndim not in (1, 2) or numbers.shape[-1] != n_outputs:
        raise ValueError(f"values of shape {numbers.shape}, expected n x {n_outputs} or {n_outputs}, as the model has "
                         "responses")
    masker = getattr(model, "masker_", None)
    if masker is not None:
        return masker.inverse_transform(numbers) if numbers.ndim == 1 else [masker.inverse_transform(r) for r in numbers]
    space = native.info(model._session()).get("space")
    if space is None or space["kind"] != "image":
        raise ValueError("the model was not fitted to images, so its responses have no position in space")
    voxels: Any = native.voxels()
    made = [_image(space, voxels, row, outside) for row in np.atleast_2d(numbers)]
    return made[0] if numbers.ndim == 1 else made


def _image(space: dict[str, Any], voxels: np.ndarray[Any, Any], row: np.ndarray[Any, Any], outside: float) -> Any:
    """One map; a pair of images if the model has two hemispheres."""
    full = np.full(int(np.prod(space["shape"])), outside, dtype=np.float32)
    full[voxels] = row
    if space["parts"] == 1:
        return _part(full, space["shape"], space["affine"])
    ends = np.cumsum([0] + [int(np.prod(shape)) for shape in space["shapes"]])
    return tuple(_part(full[ends[k]:ends[k + 1]], shape, None) for k, shape in enumerate(space["shapes"]))


def _part(values: np.ndarray[Any, Any], shape: list[int], affine: Any) -> Any:
    nib = nibabel()
    if affine is None and shape[1:] == [1, 1]:
        array = nib.gifti.GiftiDataArray(values, intent="NIFTI_INTENT_ESTIMATE", datatype="NIFTI_TYPE_FLOAT32")
        return nib.gifti.GiftiImage(darrays=[array])
    make = nib.Nifti2Image if max(shape) > 32767 else nib.Nifti1Image
    image = make(values.reshape(shape, order="F"), np.eye(4) if affine is None else np.array(affine))
    image.header.set_xyzt_units("mm")
    return image


# ---- results as files -----------------------------------------------------------------------------


@accepts_aliases("score")
def write_scores(model: NormativeModel, folder: str | os.PathLike[str], X: Any, Y: Any, *, cases: Any = None,
                 reference: Any = None, **options: Any) -> dict[str, Any]:
    """Score participants and write the maps and tables of ``kronorm score`` to a folder.

    Maps are written while they are computed and are never held in memory.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    X, Y : see `scores`
        Covariates and responses of the participants.
    cases, reference : see `scores`
        `label` is an alias of `cases`.
    **options
        Options of ``kronorm score``: write=("z", "fdr"), split=True for one file per participant, format="nii",
        threshold, training_rows, unseen, known_groups, force. part="3/10" scores every tenth participant; join=10
        combines the parts.

    Returns
    -------
    dict
        The content of summary.json.

    Examples
    --------
    >>> model.write_scores("scored", "patients.tsv", "patients.txt", write=("z", "fdr"))
    """
    native, session = model._fitted(), model._session()
    C = covariates_for(X, model)
    values: dict[str, Any] = {"missing": model.missing, **options, "output": os.fspath(folder)}
    values["cases"], values["reference"] = C.flagged(cases, "cases"), C.flagged(reference, "reference")
    with contextlib.ExitStack() as stack:
        data, _ = model._data(session, "score", values, C, Y, stack)
        scores = session.work("score", native.handle, data, session.options("score", values), makes=_abi.kn_scores)
    summary: dict[str, Any] = json.loads(lib.kn_scores_json(scores.pointer).decode())
    return summary
