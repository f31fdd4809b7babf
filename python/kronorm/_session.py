"""One call of a user: a context of its own, options, and long work that can be watched and interrupted.

Long work runs in a thread of its own while the calling thread waits, hears of progress and can be
interrupted: Python handles signals between its own instructions only, and would hear of Ctrl-C after the
fit. Whatever the work uses is referenced by that thread, so that nothing is freed under it.
"""
from __future__ import annotations

import ctypes
import logging
import os
import queue
import re
import sys
import threading
import warnings
from typing import Any, Callable, Iterable, Mapping, Union

from . import _abi
from ._errors import KronormWarning, OptionError, OutOfMemory, failure, spelled
from ._library import Handle, build, lib

log = logging.getLogger("kronorm")
log.addHandler(logging.NullHandler())

# Called with stage, done, total (0: not known) and the best log marginal likelihood so far (NaN: none).
Progress = Callable[[str, int, int, float], Any]
Value = Union[None, str, bool, int, float, "os.PathLike[str]", Iterable[Any]]

_core_told = False


def text(value: Any) -> str | None:
    """An option as the library takes it; None: it is left as it is."""
    if value is None:
        return None
    if isinstance(value, (bool,)) or type(value).__name__ == "bool_":
        return "yes" if value else "no"
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return text(value.item())  # a number of numpy
    if isinstance(value, Iterable):
        return ",".join(str(text(each)) for each in value)
    return repr(float(value)) if isinstance(value, float) else str(value)


def encoded(told: Any, what: str = "a text") -> bytes:
    """A text for the library, which ends where its first null character is. Names of files may be any bytes."""
    if not isinstance(told, str):
        raise TypeError(f"{what} is {told!r}, expected text")
    if "\0" in told:
        raise ValueError(f"{what} is {told!r}, which has a null character")
    return told.encode("utf-8", "surrogateescape")


def path_of(path: str | os.PathLike[str]) -> bytes:
    """The name of a file, for the library."""
    return encoded(os.fsdecode(path), "the name of a file")


class Session:
    """A context, for the length of one call."""

    def __init__(self, *, threads: int | None = None, memory: Value = None, progress: Progress | bool | None = None) -> None:
        if threads is not None and not 0 <= threads < 1 << 31:
            raise OptionError(f"threads is {threads}, expected 0 or more")
        pointer = lib.kn_ctx_new()
        if not pointer:
            raise OutOfMemory("out of memory: a context could not be made")
        self._ctx = Handle(pointer)
        hear: Any = _listener(progress)
        self._hear: Progress = hear
        self._hear_end = hear.close if isinstance(hear, _Bar) else _nothing_more
        self.warnings: list[str] = []
        self.told: Callable[[str], str | None] = str  # the library's sentence in the caller's words; None: not at all
        if threads is not None:
            lib.kn_set_threads(pointer, threads)
        self._resources = {"threads": threads, "memory": memory}

    @property
    def ctx(self) -> Any:
        return self._ctx.pointer

    # ---- short calls -------------------------------------------------------------------------------

    def do(self, name: str, *arguments: Any) -> None:
        """kn_NAME(ctx, ...), refused with the library's sentence."""
        self._check(getattr(lib, "kn_" + name)(self.ctx, *arguments))

    def make(self, kind: Any, name: str, *arguments: Any) -> Handle:
        """The same of a call whose last argument takes a new handle."""
        out = kind()
        self.do(name, *arguments, ctypes.byref(out))
        return Handle(out)

    def options(self, command: str, values: Mapping[str, Any]) -> Handle:
        """Options of a command; those that are None keep their defaults."""
        made = self.make(_abi.kn_options, "options_new", encoded(command))
        given = {**{k: v for k, v in self._resources.items() if _takes(command, k)}, **values}
        for key, value in given.items():
            told = text(value)
            if told is not None:
                self.do("options_set", made.pointer, encoded(key), encoded(told, key))
        return made

    def _check(self, status: int) -> None:
        if status != _abi.KN_OK:
            sentence = _in_memory(lib.kn_message(self.ctx).decode(errors="replace"))
            raise failure(status, self.told(sentence) or sentence)

    # ---- long calls --------------------------------------------------------------------------------

    def work(self, name: str, *arguments: Any, makes: Any = None) -> Any:
        """kn_NAME(ctx, ...) in a thread of its own. Arguments may be Handles. `makes`: the kind of handle
        that the last argument, added here, takes."""
        _tell_core()
        events: queue.SimpleQueue[tuple[Callable[..., None], tuple[Any, ...]] | None] = queue.SimpleQueue()
        result: list[Any] = []
        function = getattr(lib, "kn_" + name)

        def heard(user: Any, level: int, message: bytes) -> None:
            events.put((self._log, (level, message.decode(errors="replace"))))

        def moved(user: Any, at: Any) -> None:
            p = at.contents
            events.put((self._hear, (p.stage.decode(), p.done, p.total, p.lml)))

        def body() -> None:
            try:
                out = makes() if makes else None
                given = [a.pointer if isinstance(a, Handle) else a for a in arguments]
                status = function(self.ctx, *given, *([ctypes.byref(out)] if makes else []))
                lib.kn_set_log(self.ctx, _abi.kn_log_fn(0), None)
                lib.kn_set_progress(self.ctx, _abi.kn_progress_fn(0), None)
                keep.clear()
                made = Handle(out) if makes and status == _abi.KN_OK else None
                result.append((status, made))
            except BaseException as error:  # an argument of a wrong type
                result.append((error, None))
            finally:
                events.put(None)

        keep: list[Any] = [_abi.kn_log_fn(heard), _abi.kn_progress_fn(moved)]  # while the library may call them
        lib.kn_set_log(self.ctx, keep[0], None)
        lib.kn_set_progress(self.ctx, keep[1], None)
        worker = threading.Thread(target=body, name=f"kronorm {name}", daemon=True)
        try:
            self._wait(worker, events, result)
        except BaseException:
            lib.kn_cancel(self.ctx)  # once more: of two interrupts the second may have come before it
            raise
        finally:
            self._hear_end()
        status, made = result.pop()
        if isinstance(status, BaseException):
            try:
                raise status
            finally:
                del status  # it knows this frame
        self._check(status)
        return made

    def _wait(self, worker: threading.Thread, events: Any, result: list[Any]) -> None:
        """Until there is a result. An exception, of Ctrl-C, of the caller's own progress function or of a warning that
        is an error, cancels the work, and goes on when that has ended. One that comes while we wait for the end is
        left out; the second of two within a microsecond goes on at once, and the work ends by itself."""
        stopped: BaseException | None = None
        started = False
        while True:
            try:
                while not result:  # before it looks for events: one that an interrupt made us lose is not waited for
                    if stopped is not None:
                        lib.kn_cancel(self.ctx)
                        if worker.ident is None:  # it was not even started
                            break
                    elif not started:
                        started = True
                        worker.start()
                    event = events.get()
                    if event is not None and stopped is None:
                        event[0](*event[1])
                while stopped is None and not events.empty():
                    event = events.get()
                    if event is not None:
                        event[0](*event[1])
                break
            except BaseException as error:
                if stopped is None:
                    stopped = error
        if stopped is not None:
            result.clear()
            try:
                raise stopped
            finally:
                del stopped  # it knows this frame, and would live until the garbage is collected

    def _log(self, level: int, message: str) -> None:
        told = self.told(_in_memory(message))
        if told is None:
            return
        if level == _abi.KN_LOG_WARNING:
            self.warnings.append(spelled(told))
            warnings.warn(spelled(told), KronormWarning, stacklevel=_outside())
        else:
            log.log(logging.INFO if level == _abi.KN_LOG_INFO else logging.DEBUG, "%s", spelled(told))


def _in_memory(sentence: str) -> str:
    """The caller's array of a basis is a file for the library only."""
    return re.sub(r"(\S*/)?kronorm-[^/ ]+/basis\.npy", "basis", sentence)


def _outside() -> int:
    """The stacklevel, for the function that asks, of the line outside this package that called it."""
    here, frame, level = os.path.dirname(__file__), sys._getframe(1), 1
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == here:
        frame, level = frame.f_back, level + 1
    return level


def _takes(command: str, key: str) -> bool:
    return key in option_keys(command)


_keys: dict[str, tuple[str, ...]] = {}


def option_keys(command: str) -> tuple[str, ...]:
    """The keys that a command of the library takes."""
    if command not in _keys:
        _keys[command] = tuple(row["key"] for row in option_table(command))
    return _keys[command]


def option_table(command: str) -> list[dict[str, Any]]:
    """The options of a command: key, type, words, default, heading, help, and methods that do not take them."""
    rows = []
    session = Session()
    for i in range(lib.kn_options_count(encoded(command))):
        info = _abi.kn_option_info(size=ctypes.sizeof(_abi.kn_option_info))
        session.do("option_at", encoded(command), i, ctypes.byref(info))
        row = {name: getattr(info, name) for name, *_ in info._fields_ if name not in ("size", "letter")}
        rows.append({k: v.decode() if isinstance(v, bytes) else v for k, v in row.items()})
    return rows


def _tell_core() -> None:
    """Once: a fit on a processor that OpenBLAS does not know is slow, and nobody else would say so."""
    global _core_told
    if _core_told:
        return
    _core_told = True
    core = build()
    if core["better_core"]:
        warnings.warn(
            f"OpenBLAS does not know this processor and takes it for {core['core']}: set OPENBLAS_CORETYPE="
            f"{core['better_core']} before Python starts, and kronorm and numpy are faster",
            KronormWarning, stacklevel=_outside())


def _listener(progress: Progress | bool | None) -> Progress:
    if callable(progress):
        return progress
    if progress:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return _nothing
        return _Bar(tqdm)
    return _nothing


def _nothing(stage: str, done: int, total: int, lml: float) -> None:
    pass


def _nothing_more() -> None:
    pass


class _Bar:
    """tqdm's, one for each stage."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm, self._bar, self._stage = tqdm, None, ""

    def __call__(self, stage: str, done: int, total: int, lml: float) -> None:
        if self._bar is None or stage != self._stage:
            self.close()
            self._stage = stage
            self._bar = self._tqdm(desc=stage, total=total or None, leave=False)
        bar: Any = self._bar
        bar.total = total or None
        bar.update(done - bar.n)

    def close(self) -> None:
        if self._bar is not None:
            bar: Any = self._bar
            bar.close()
            self._bar = None
