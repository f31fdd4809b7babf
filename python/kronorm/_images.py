"""Models of brain images: fitted to images, scored into files, and numbers back into images."""
from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi
from ._covariates import Covariates, covariates, covariates_for
from ._image_files import image_people, in_rows, is_images, refuse_shuffled
from ._library import lib
from ._nibabel_files import nibabel

if TYPE_CHECKING:
    from .model import NormativeModel

__all__ = ["fit_images", "image_people", "is_images", "masked", "refuse_shuffled", "to_images", "write_scores"]


def fit_images(participants: Any, images: Any, mask: Any = None, **parameters: Any) -> NormativeModel:
    """A model of what is normal in brain images.

    Parameters
    ----------
    participants : path of a .tsv or .csv, as a BIDS participants.tsv; or X as of `NormativeModel.fit`
    images : path of a 4D image or of a list of images (.txt), a pattern of paths, images of nibabel or their paths in
        the order of the participants, or by id in a dict; of two hemispheres pairs of them. Files are read by the
        library, as many at a time as memory has room for. Paths with one label sub-XXX each belong to the
        participants of these ids. A pattern, a .txt and a dict may have images of others too.
    mask : path or image of nibabel, whose voxels that are not 0 are used; or a fitted masker with transform and
        inverse_transform, such as nilearn's, for all of these but a .txt. Default: voxels that are finite in all images
        and not constant.
    **parameters
        Of `NormativeModel`.

    Returns
    -------
    NormativeModel
        Fitted; with `masker_` where there was one. Its methods take images in the place of Y.

    Examples
    --------
    >>> model = kronorm.fit_images("participants.tsv", "derivatives/*/*_thickness.nii.gz", "mask.nii.gz", batch="site")
    >>> z = model.zscore("patients.tsv", "patients.txt")
    >>> model.to_images(z)[0].to_filename("z.nii.gz")
    """
    from .model import NormativeModel

    if not is_images(images):
        raise ValueError(f"images are of type {type(images).__name__}, expected paths or images of nibabel (numbers are "
                         "for NormativeModel.fit)")
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
    """What a masker takes from the images of these people, a row each."""
    values = np.asarray(masker.transform(in_rows(X, images)))
    if values.ndim != 2:
        raise ValueError(f"the masker made an array of shape {values.shape}, expected a row of voxels for each image")
    return values


# ---- numbers as images ----------------------------------------------------------------------------


def to_images(model: NormativeModel, values: Any, *, outside: float = np.nan) -> Any:
    """Numbers of each response as images in the space of the model, to look at or to save.

    Parameters
    ----------
    values : n x n_outputs, or n_outputs
        Such as the z of people.
    outside : float
        What voxels outside the mask get. A masker decides for itself.

    Returns
    -------
    list of n images, or one. Volumes are NIfTI, vertices of surfaces GIFTI; of two hemispheres pairs.

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
        raise ValueError("the model was not fitted to images: its responses have no place in space")
    voxels: Any = native.voxels()
    made = [_image(space, voxels, row, outside) for row in np.atleast_2d(numbers)]
    return made[0] if numbers.ndim == 1 else made


def _image(space: dict[str, Any], voxels: np.ndarray[Any, Any], row: np.ndarray[Any, Any], outside: float) -> Any:
    """One map; voxels of two parts follow each other."""
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


def write_scores(model: NormativeModel, folder: str | os.PathLike[str], X: Any, Y: Any, *, label: Any = None,
                 reference: Any = None, **options: Any) -> dict[str, Any]:
    """Scores people into a folder: the maps and tables that ``kronorm score`` writes, of images as images.

    Nothing of the maps is held: they go to their files as they are made.

    Parameters
    ----------
    folder : path
        Made if need be.
    X, Y : as in `scores`
    label, reference : as in `scores`
    **options
        Those of ``kronorm score``: write=("z", "fdr"), split=True for a file a person, format="nii", threshold,
        training_rows, unseen, known_groups, force; part="3/10" for every tenth person, and join=10 in the end.

    Returns
    -------
    dict
        What ``summary.json`` has.

    Examples
    --------
    >>> model.write_scores("scored", "patients.tsv", "patients.txt", write=("z", "fdr"))
    """
    native, session = model._fitted(), model._session()
    C = covariates_for(X, model)
    values: dict[str, Any] = {"missing": model.missing, **options, "output": os.fspath(folder)}
    values["label"], values["reference"] = C.flagged(label, "label"), C.flagged(reference, "reference")
    with contextlib.ExitStack() as stack:
        data, _ = model._people(session, "score", values, C, Y, stack)
        scores = session.work("score", native.handle, data, session.options("score", values), makes=_abi.kn_scores)
    summary: dict[str, Any] = json.loads(lib.kn_scores_json(scores.pointer).decode())
    return summary
