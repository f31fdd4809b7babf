"""The wheel: the package, and libkronorm beside it. What can be said without code stands in pyproject.toml.

    cd python && python3 -m build --wheel --no-isolation        in a clone: the library's sources are one folder up

It is py3-none-PLATFORM: the library is reached by ctypes, so one wheel does for every Python 3. libkronorm is built
in build-python, or is the file that KRONORM_LIBRARY names. The same sources give the same bytes: the wheel is put
together in an empty folder, with one time (SOURCE_DATE_EPOCH) and one set of permissions for all files.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import NoReturn

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel  # from 70.1
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-python"
EARLIEST = "315532800"  # 1980-01-01, where the time of a zip file begins


def fail(sentence: str) -> NoReturn:
    raise SystemExit("kronorm: " + sentence)


def version() -> str:
    """meson.build has it; kronorm.h, which programs are compiled with, has to say the same."""
    try:
        project = (ROOT / "meson.build").read_text()
        header = (ROOT / "include" / "kronorm.h").read_text()
    except OSError as error:
        fail(f"{error.filename} is not there: a wheel is made in the folder python of a clone of the repository")
    told = re.search(r"version: '([0-9.]+)'", project)[1]
    parts = [re.search(rf"#define KN_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    if told != ".".join(parts):
        fail(f"meson.build has version {told}, include/kronorm.h {'.'.join(parts)}")
    return told


VERSION = version()


def given(path: str) -> pathlib.Path:
    """A library that was built before: it has to load, and to be of this version."""
    try:
        library = ctypes.CDLL(os.path.abspath(path))
        library.kn_version.restype = ctypes.c_char_p
        found = library.kn_version().decode()
    except (OSError, AttributeError) as error:
        fail(f"KRONORM_LIBRARY is not a libkronorm that loads: {error}")
    if found != VERSION:
        fail(f"KRONORM_LIBRARY, {path}, is version {found}, the package is {VERSION}")
    return pathlib.Path(path)


def built() -> pathlib.Path:
    """Beside the sources, so that the compiler sees them by relative paths and none of this machine gets in."""
    for tool in ("meson", "ninja"):
        if not shutil.which(tool):
            fail(f"{tool} is not there: `tools/setup build` installs it; or name a built library in KRONORM_LIBRARY")
    name = f"libkronorm.so.{VERSION}"
    for command in ([ROOT / "tools" / "configure", BUILD, "-Dcli=false"], ["ninja", "-C", BUILD, "--quiet", name]):
        if subprocess.run(command, cwd=ROOT).returncode:
            fail("the library could not be built; what its build said stands above")
    return BUILD / name


class with_library(build_py):
    """The Python files, and kronorm/libkronorm.so without symbols for debuggers."""

    def run(self) -> None:
        super().run()
        if getattr(self, "editable_mode", False):  # then the sources are the package, and stay as they are
            return
        path = os.environ.get("KRONORM_LIBRARY")
        library = given(path) if path else built()
        target = os.path.join(self.build_lib, "kronorm", "libkronorm.so")
        subprocess.run([os.environ.get("STRIP", "strip"), "--strip-unneeded", "-o", target, library], check=True)


class one_wheel(bdist_wheel):
    """For every Python 3 of a platform, and always the same bytes."""

    def initialize_options(self) -> None:
        super().initialize_options()
        self.folder = tempfile.TemporaryDirectory()  # python/build and egg-info may have files of an earlier version
        self.distribution.get_command_obj("build").build_base = self.folder.name
        self.distribution.get_command_obj("egg_info").egg_base = self.folder.name

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]

    def write_wheelfile(self, *args, **kwargs) -> None:  # the last to be written before all are packed
        super().write_wheelfile(*args, **kwargs)
        os.environ.setdefault("SOURCE_DATE_EPOCH", EARLIEST)
        for path in pathlib.Path(self.bdist_dir).rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)


class no_sdist(sdist):
    def run(self) -> None:
        fail("there is no source distribution of the package alone: the library's sources are the repository's. "
             "Make the wheel: python3 -m build --wheel --no-isolation")


class Binary(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(version=VERSION, distclass=Binary,
      cmdclass={"build_py": with_library, "bdist_wheel": one_wheel, "sdist": no_sdist})
