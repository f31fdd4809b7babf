"""nibabel images as files: the original file if it is unchanged, otherwise a lossless copy."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._errors import DataError

ENDINGS = (".nii", ".nii.gz", ".hdr", ".img", ".mgh", ".mgz", ".gii", ".gii.gz")
_LONGEST = 32767  # of a dimension of NIfTI-1
_STORED = {"bool": "uint8", "float16": "float32", "longdouble": "float64", "float128": "float64"}


def is_image(one: Any) -> bool:
    return hasattr(one, "dataobj") or hasattr(one, "darrays")  # GIFTI has arrays, CIFTI no affine


def is_name(text: str) -> bool:
    """Whether the text is the name of an image file."""
    return text.lower().endswith(ENDINGS)


def nibabel() -> Any:
    try:
        import nibabel as module
    except ImportError as error:
        raise ImportError("images in memory need nibabel: install python3-nibabel, or nibabel with pip") from error
    return module


def volumes(image: Any) -> int:
    if hasattr(image, "darrays"):
        return len(image.darrays)
    shape = tuple(image.shape if hasattr(image, "shape") else np.shape(image.dataobj))
    if "cifti" in type(image).__name__.lower():
        return int(shape[0])
    return int(np.prod(shape[3:]))


def unchanged(image: Any) -> str | None:
    """The file that an image was read from, if the image is unchanged; else None."""
    nib = nibabel()
    proxy = getattr(image, "dataobj", None)
    path = getattr(proxy, "file_like", None)
    if proxy is None or not nib.is_proxy(proxy) or not isinstance(path, (str, os.PathLike)):
        return None
    path = os.path.abspath(os.fspath(path))
    header = path[:-4] + ".hdr" if path.endswith(".img") else path
    if not is_name(path) or not os.path.exists(header):
        return None
    there = nib.load(header)
    same = (type(there) is type(image) and there.shape == image.shape and _bytes(there) == _bytes(image)
            and np.array_equal(_affine(there), _affine(image), equal_nan=True) and _cache_agrees(image))
    return header if same else None


def _affine(image: Any) -> Any:
    return np.asarray(getattr(image, "affine", None), dtype=float)


def _bytes(image: Any) -> Any:
    header = image.header
    if hasattr(header, "matrix"):  # of CIFTI
        return header.to_xml(), bytes(image.nifti_header.binaryblock)
    return bytes(header.binaryblock) if hasattr(header, "binaryblock") else repr(header)


def _cache_agrees(image: Any) -> bool:
    """Whether values that get_fdata returned, which the caller may have changed, still equal those of the file."""
    cache = getattr(image, "_fdata_cache", None)
    if cache is None:
        return True
    if cache.ndim < 4:
        return np.array_equal(np.asanyarray(image.dataobj), cache, equal_nan=True)
    return all(np.array_equal(image.dataobj[..., i], cache[..., i], equal_nan=True) for i in range(cache.shape[-1]))


def save(image: Any, path: str, name: str) -> str:
    """Write an image in memory without loss, in its own data type, and return the path."""
    nib = nibabel()
    if hasattr(image, "darrays"):
        path = path if path.endswith((".gii", ".gii.gz")) else path[:-4] + ".gii"
        nib.save(nib.gifti.GiftiImage(darrays=[_array(nib, each) for each in image.darrays]), path)
        return path
    cache = getattr(image, "_fdata_cache", None)
    values = np.asanyarray(image.dataobj) if cache is None else cache
    kind = _STORED.get(values.dtype.name, values.dtype.name)
    if values.dtype.kind not in "biuf":
        raise DataError(f"{name}: values of type {values.dtype}, expected real numbers")
    values = values.astype(kind, copy=False)
    if hasattr(image, "nifti_header") and hasattr(image.header, "matrix"):
        path = os.path.join(os.path.dirname(path), "image.dscalar.nii")
        made = type(image)(values, image.header, image.nifti_header)
        made.set_data_dtype(values.dtype)
    else:
        path = os.path.join(os.path.dirname(path), _stem(os.path.basename(path)) + ".nii")
        make = nib.Nifti2Image if max(values.shape, default=0) > _LONGEST else nib.Nifti1Image
        made = make(values, image.affine, getattr(image, "header", None), dtype=values.dtype)
        made.header.set_slope_inter(1, 0)
    nib.save(made, path)
    return path


def _array(nib: Any, array: Any) -> Any:
    """A GIFTI array with exact numbers: as text they would be rounded."""
    kind = "float32" if array.data.dtype.kind == "f" else "uint8" if array.data.dtype == np.uint8 else "int32"
    return nib.gifti.GiftiDataArray(array.data.astype(kind), intent=array.intent, datatype=f"NIFTI_TYPE_{kind.upper()}",
                                    encoding="GIFTI_ENCODING_B64GZ")


def _stem(base: str) -> str:
    ending = max((e for e in ENDINGS if base.lower().endswith(e)), key=len, default="")
    return base[: len(base) - len(ending)] or "image"
