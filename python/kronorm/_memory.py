"""Memory for the library, by its address. The casts and array types of ctypes are avoided: each is part of a reference
cycle that keeps its memory until the next garbage collection."""
from __future__ import annotations

import ctypes
from typing import Any, Iterable

import numpy as np

from ._session import encoded

_DOUBLES, _TEXTS = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_char_p)


def address(array: np.ndarray[Any, Any]) -> int:
    at: int = array.__array_interface__["data"][0]
    return at


def _pointer(kind: Any, array: np.ndarray[Any, Any], *more: Any) -> Any:
    out = kind.from_buffer(ctypes.c_void_p(address(array)))
    out.kept = (array, *more)
    return out


def doubles(array: np.ndarray[Any, Any]) -> Any:
    """double * of a contiguous float64 array."""
    return _pointer(_DOUBLES, array)


def text_array(texts: Iterable[str | None]) -> Any:
    """const char *const * of texts, None as NULL; it owns the texts."""
    texts = list(texts)
    parts = [b"" if t is None else encoded(t, "a name, id or category") for t in texts]
    content = np.frombuffer(b"\0".join(parts) + b"\0", dtype=np.uint8)
    starts = np.cumsum([0] + [len(part) + 1 for part in parts[:-1]], dtype=np.uintp) + np.uintp(address(content))
    missing = np.fromiter((t is None for t in texts), dtype=bool, count=len(parts))
    pointers = np.where(missing, np.uintp(0), starts).astype(np.uintp)
    return _pointer(_TEXTS, pointers, content)


def copied(pointer: Any, n: int, kind: Any = np.float64) -> np.ndarray[Any, Any]:
    """A copy of n numbers at an address."""
    return np.frombuffer(ctypes.string_at(pointer, n * np.dtype(kind).itemsize), dtype=kind).copy()
