"""libkronorm, loaded once, with the argument types of the header.

It is searched in this order: the file in KRONORM_LIBRARY, beside this package (as in a wheel), and the library path of
the system."""
from __future__ import annotations

import ctypes
import os
import pathlib
import weakref
from typing import Any

from . import _abi

SONAME = f"libkronorm.so.{_abi.VERSION[0]}"
# Debian 12 packages with the libraries that it needs; docs/reference/python.md has the same list.
PACKAGES = "libopenblas0-pthread liblapacke libnlopt0 libjansson4 libcsv3 libdeflate0 libexpat1 zlib1g"


def _candidates() -> list[str]:
    given = os.environ.get("KRONORM_LIBRARY")
    if given:
        return [given]
    beside = sorted(pathlib.Path(__file__).parent.glob("libkronorm.so*"))
    return [str(path) for path in beside[:1]] or [SONAME]


def _refusal(path: str, told: str) -> str:
    """The error of the linker in plain words. It names the file that was not found: the library, or one that it
    needs."""
    missing, there, _ = told.partition(": cannot open shared object file: No such file")
    if not there:
        return f"{path} cannot be loaded: {told}"
    if missing != path:
        return f"{path} needs {missing}, which is not installed; on Debian: apt install {PACKAGES}"
    if path == SONAME:
        return (f"{SONAME} was not found beside the package or on the system: install kronorm (`make install`) or a "
                "wheel of it, or name the file in KRONORM_LIBRARY")
    return f"KRONORM_LIBRARY names {path}, which does not exist"


def _own(kind: type, value: Any) -> Any:
    """Check the type of a handle: ctypes alone would accept any number as an address."""
    if value is None or isinstance(value, kind):
        return value
    raise TypeError(f"expected a {kind.__name__}, got a {type(value).__name__}")


def _load() -> ctypes.CDLL:
    (path,) = _candidates()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(_refusal(path, str(error))) from error
    for kind in vars(_abi).values():
        if isinstance(kind, type) and issubclass(kind, ctypes.c_void_p) and kind is not ctypes.c_void_p:
            setattr(kind, "from_param", classmethod(_own))
    for name, (returns, takes) in _abi.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} has no function {name}: it is not libkronorm {_version(_abi.VERSION)}") from None
        function.restype, function.argtypes = returns, takes
    found = library.kn_version().decode()
    if tuple(map(int, found.split(".")))[:2] != _abi.VERSION[:2]:
        raise ImportError(f"{path} is version {found}, this package is for {_version(_abi.VERSION)}")
    return library


def _version(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


lib = _load()


class Handle:
    """A handle of the library, freed with its last reference; a thread that uses it holds one. `pointer` has the type
    of the handle, so that ctypes rejects other types. `lent` are objects that the library borrows, such as the array of
    responses."""

    def __init__(self, pointer: Any) -> None:
        self.pointer = pointer
        self.lent: list[Any] = []
        free = getattr(lib, type(pointer).__name__ + "_free")
        weakref.finalize(self, free, type(pointer)(pointer.value)).atexit = False  # the process frees all

    def __reduce__(self) -> Any:  # a copy would use freed memory, or that of another process
        raise TypeError("a handle of the library cannot be copied or pickled")


def build() -> dict[str, str | None]:
    """Describe the build of the library and its OpenBLAS.

    Returns
    -------
    dict
        version; blas, the configuration of OpenBLAS; core, the processor core that it uses; and better_core, the value
        for OPENBLAS_CORETYPE (set it before Python starts) if OpenBLAS does not recognise the processor, else None.

    Examples
    --------
    >>> kronorm.build()["version"]
    """
    texts = {"version": lib.kn_version(), "blas": lib.kn_build_blas(), "core": lib.kn_build_core(),
             "better_core": lib.kn_build_better_core()}
    return {key: None if text is None else text.decode() for key, text in texts.items()}
