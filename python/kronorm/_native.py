"""A fitted model of the library: immutable, freed with its last reference."""
from __future__ import annotations

import ctypes
import json
import os
from typing import Any

import numpy as np

from . import _abi
from ._library import Handle, lib
from ._memory import address, copied, doubles
from ._session import Session, path_of


class _Lender:
    """Memory of a handle as a numpy interface; the array keeps the handle alive."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def array_of(owner: Any, view: Any, frozen: bool = True) -> np.ndarray[Any, Any] | None:
    """A view of the library as an array without a copy, which keeps `owner` alive; None if there is no view. `frozen`:
    read-only, because others may use it."""
    if not view.data:
        return None
    kind, size = ("<f8", 8) if view.type == _abi.KN_F64 else ("<f4", 4)
    return np.asarray(_Lender(owner, {
        "version": 3, "typestr": kind, "shape": (view.rows, view.cols), "data": (view.data, frozen),
        "strides": (size * view.row_stride, size * view.col_stride)}))


def texts_of(pointer: Any, n: int) -> list[str] | None:
    return [pointer[i].decode() for i in range(n)] if pointer else None


class Native:
    """The description and arrays of one model."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self._features: list[str] | None = None
        self._labels: list[str] | None = None

    # ---- to and from bytes -------------------------------------------------------------------------

    @classmethod
    def open(cls, session: Session, path: str | os.PathLike[str]) -> Native:
        return cls(session.work("model_open", path_of(path), makes=_abi.kn_model))

    @classmethod
    def from_bytes(cls, session: Session, content: bytes) -> Native:
        buffer = np.frombuffer(content, dtype=np.uint8)
        return cls(session.make(_abi.kn_model, "model_from_bytes", address(buffer), len(buffer)))

    def to_bytes(self, session: Session) -> bytes:
        content, count = ctypes.c_void_p(), ctypes.c_size_t()
        session.do("model_to_bytes", self.handle.pointer, ctypes.byref(content), ctypes.byref(count))
        try:
            return ctypes.string_at(content, count.value)
        finally:
            lib.kn_bytes_free(content)

    def save(self, session: Session, path: str | os.PathLike[str], force: bool) -> None:
        session.work("model_save", self.handle, path_of(path), int(bool(force)))

    # ---- what is in it -----------------------------------------------------------------------------

    def _text(self, session: Session, call: str) -> str:
        content = ctypes.c_void_p()
        session.do(call, self.handle.pointer, ctypes.byref(content))
        try:
            return ctypes.string_at(content).decode()
        finally:
            lib.kn_text_free(content)

    def info(self, session: Session) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._text(session, "model_json"))
        return found

    def features(self) -> list[str]:
        """Names of the covariates."""
        if self._features is None:
            self._features = [column["name"] for column in self.info(Session())["recipe"]["columns"]]
        return self._features

    def labels(self) -> list[str]:
        """Labels of the responses in tables: their names, x,y,z of voxels, or numbers from 1."""
        if self._labels is None:
            names, voxels = self.response_names(), self.voxels()
            if names is None and voxels is not None:
                nx, ny = self.info(Session())["space"]["shape"][:2]
                names = [f"{v % nx},{v // nx % ny},{v // (nx * ny)}" for v in voxels]
            self._labels = names if names is not None else [str(j + 1) for j in range(self.count("n_responses"))]
        return self._labels

    def words(self, session: Session) -> str:
        return self._text(session, "model_words")

    def number(self, name: str) -> float:
        return float(lib.kn_model_number(self.handle.pointer, name.encode()))

    def count(self, name: str) -> int:
        return int(self.number(name))

    def array(self, name: str) -> np.ndarray[Any, Any] | None:
        return array_of(self.handle, lib.kn_model_array(self.handle.pointer, name.encode()))

    def kept(self) -> np.ndarray[Any, Any]:
        """Indices of the responses in use."""
        index = ctypes.POINTER(ctypes.c_ssize_t)()
        n = lib.kn_model_kept(self.handle.pointer, ctypes.byref(index))
        return copied(index, n, np.intp)

    def noise(self, session: Session) -> np.ndarray[Any, Any]:
        out = np.empty(self.count("n_responses"))
        session.do("model_noise", self.handle.pointer, doubles(out))
        return out

    def reference(self) -> np.ndarray[Any, Any]:
        """Indices of the reference sample in the training sample."""
        sample = ctypes.POINTER(ctypes.c_ssize_t)()
        n = lib.kn_model_reference(self.handle.pointer, ctypes.byref(sample))
        return copied(sample, n, np.intp) if sample else np.arange(n)

    def ids(self) -> list[str] | None:
        return texts_of(lib.kn_model_ids(self.handle.pointer), self.count("n_samples"))

    def response_names(self) -> list[str] | None:
        return texts_of(lib.kn_model_response_names(self.handle.pointer), self.count("n_responses"))

    def voxels(self) -> np.ndarray[Any, Any] | None:
        """The voxel of each response of an image model, x fastest; None for other models."""
        index = ctypes.POINTER(ctypes.c_ssize_t)()
        n = lib.kn_model_voxels(self.handle.pointer, ctypes.byref(index))
        return copied(index, n, np.intp) if n > 0 else None
