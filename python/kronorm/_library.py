"""libkronorm, found and loaded once, with the types that the header gives its functions.

It is looked for in this order: the file that KRONORM_LIBRARY names, beside this package (as in a wheel),
and where the system finds libraries.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
import weakref
from typing import Any

from . import _abi

SONAME = f"libkronorm.so.{_abi.VERSION[0]}"
# What has the libraries that it needs in Debian 12; the README has the same.
PACKAGES = "libopenblas0-pthread liblapacke libnlopt0 libjansson4 libcsv3 libdeflate0 libexpat1 zlib1g"


def _candidates() -> list[str]:
    given = os.environ.get("KRONORM_LIBRARY")
    if given:
        return [given]
    beside = sorted(pathlib.Path(__file__).parent.glob("libkronorm.so*"))
    return [str(path) for path in beside[:1]] or [SONAME]


def _refusal(path: str, told: str) -> str:
    """What the linker's words mean: it names the file that it did not find, ours or one that ours needs."""
    missing, there, _ = told.partition(": cannot open shared object file: No such file")
    if not there:
        return f"{path} cannot be loaded: {told}"
    if missing != path:
        return f"{path} needs {missing}, which is not on this system; on Debian: apt install {PACKAGES}"
    if path == SONAME:
        return (f"{SONAME} was not found beside the package or on the system: install kronorm (`make install`) or a "
                "wheel of it, or name the file in KRONORM_LIBRARY")
    return f"KRONORM_LIBRARY names {path}, which is not there"


def _own(kind: type, value: Any) -> Any:
    """Handles go to the library as what they are: ctypes alone would take any number for an address."""
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
    """What the library made, freed when the last reference to it goes: a thread that still works with it
    holds one. `pointer` is of the handle's own type, so that ctypes refuses one of another kind; `lent` is
    what the library only borrows, such as the array of responses."""

    def __init__(self, pointer: Any) -> None:
        self.pointer = pointer
        self.lent: list[Any] = []
        free = getattr(lib, type(pointer).__name__ + "_free")
        weakref.finalize(self, free, type(pointer)(pointer.value)).atexit = False  # the process frees all

    def __reduce__(self) -> Any:  # a copy would point to what the first one frees, or into another process
        raise TypeError("what the library made stays where it is: it can be neither copied nor pickled")


def build() -> dict[str, str | None]:
    """How the library was built: its version, OpenBLAS's own words, the processor core that OpenBLAS chose, and
    the core to ask for in OPENBLAS_CORETYPE before Python starts where OpenBLAS does not know the processor.

    Returns
    -------
    dict
        version, blas, core, better_core; None: there is none.

    Examples
    --------
    >>> kronorm.build()["version"]
    """
    texts = {"version": lib.kn_version(), "blas": lib.kn_build_blas(), "core": lib.kn_build_core(),
             "better_core": lib.kn_build_better_core()}
    return {key: None if text is None else text.decode() for key, text in texts.items()}
