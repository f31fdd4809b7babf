"""Temporary folders of one call, which are always removed."""
from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import threading
from typing import Iterator


@contextlib.contextmanager
def temporary_folder(parent: str | os.PathLike[str] | None = None) -> Iterator[str]:
    """The path of a new folder that exists during the block. Its name is chosen before it is created, so that an
    interrupt during its creation leaves no folder behind."""
    name = os.path.join(tempfile.gettempdir() if parent is None else os.fspath(parent), f"kronorm-{secrets.token_hex(8)}")
    ours = True
    try:
        try:
            os.mkdir(name, 0o700)
        except FileExistsError:
            ours = False
            raise
        yield name
    finally:
        if ours:
            _remove(name)


def _remove(folder: str) -> None:
    """Remove a folder in a thread that no interrupt stops. What cannot be removed remains."""
    remover = threading.Thread(target=shutil.rmtree, args=(folder, True), name="kronorm remove", daemon=True)
    try:
        remover.start()
        remover.join()
    except BaseException as error:  # an interrupt, perhaps before it began; or there are no more threads
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, RuntimeError):
            raise
