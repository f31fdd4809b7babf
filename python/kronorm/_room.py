"""Temporary folders of one call, which go whatever happens to it."""
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
    """The path of a new folder, for as long as the block lasts. Its name is known before it is made, so that an
    interrupt that comes while the system makes it leaves none behind."""
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
    """In a thread, which no interrupt stops halfway. What cannot be removed is the system's to keep."""
    remover = threading.Thread(target=shutil.rmtree, args=(folder, True), name="kronorm remove", daemon=True)
    try:
        remover.start()
        remover.join()
    except BaseException as error:  # an interrupt, perhaps before it began; or there are no more threads
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, RuntimeError):
            raise
