"""One call of a user: its context, options, and long work with progress and interruption.

Long work runs in its own thread while the calling thread waits, receives progress and can be interrupted. Python
handles signals only between its own instructions, so without the thread it would notice Ctrl-C after the fit. The
thread holds references to everything that the work uses, so that nothing is freed early."""
from __future__ import annotations

import ctypes
import functools
import logging
import os
import queue
import re
import sys
import threading
import warnings
from typing import Any, Callable, Iterable, Mapping, TypeVar, Union, cast

from . import _abi
from ._errors import KronormWarning, OptionError, OutOfMemory, failure, spelled
from ._library import Handle, build, lib

log = logging.getLogger("kronorm")
log.addHandler(logging.NullHandler())

# Called with stage, done, total (0: not known) and the best log marginal likelihood so far (NaN: none).
Progress = Callable[[str, int, int, float], Any]
Value = Union[None, str, bool, int, float, "os.PathLike[str]", Iterable[Any]]

_core_warned = False


def text(value: Any) -> str | None:
    """An option as text for the library; None: not set."""
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
    """A text for the library, which ends at the first null character. File names may be any bytes."""
    if not isinstance(told, str):
        raise TypeError(f"{what} is {told!r}, expected text")
    if "\0" in told:
        raise ValueError(f"{what} is {told!r}, which has a null character")
    return told.encode("utf-8", "surrogateescape")


def path_of(path: str | os.PathLike[str]) -> bytes:
    """A file name for the library."""
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
        self._on_progress: Progress = hear
        self._hear_end = hear.close if isinstance(hear, _Bar) else _nothing_more
        self.warnings: list[str] = []
        self.told: Callable[[str], str | None] = str  # rewrites a sentence of the library; None: drops it
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
        """Call kn_NAME(ctx, ...) in its own thread. Arguments may be Handles. `makes`: the kind of handle of the last
        argument, which is added here."""
        _warn_about_core()
        events: queue.SimpleQueue[tuple[Callable[..., None], tuple[Any, ...]] | None] = queue.SimpleQueue()
        result: list[Any] = []
        function = getattr(lib, "kn_" + name)

        def heard(user: Any, level: int, message: bytes) -> None:
            events.put((self._log, (level, message.decode(errors="replace"))))

        def moved(user: Any, at: Any) -> None:
            p = at.contents
            events.put((self._on_progress, (p.stage.decode(), p.done, p.total, p.lml)))

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
        """Wait for the result. An exception (Ctrl-C, the caller's progress function, or a warning that is an error)
        cancels the work and continues when the work has ended. A further exception while waiting is ignored; the second
        of two within a microsecond continues at once, and the work ends by itself."""
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
    """The stacklevel, for the calling function, of the line outside this package."""
    here, frame, level = os.path.dirname(__file__), sys._getframe(1), 1
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == here:
        frame, level = frame.f_back, level + 1
    return level


def _takes(command: str, key: str) -> bool:
    return key in option_keys(command)


_keys: dict[str, tuple[str, ...]] = {}
_aliases: dict[str, dict[str, str]] = {}
F = TypeVar("F", bound=Callable[..., Any])


def option_keys(command: str) -> tuple[str, ...]:
    """The keys of a command."""
    if command not in _keys:
        _keys[command] = tuple(row["key"] for row in option_table(command))
    return _keys[command]


def aliases(command: str) -> dict[str, str]:
    """Aliases of a command's options, each with the key that it stands for."""
    if command not in _aliases:
        _aliases[command] = {row["alias"]: row["key"] for row in option_table(command) if row["alias"]}
    return _aliases[command]


def accepts_aliases(command: str) -> Callable[[F], F]:
    """Decorator of a function whose arguments are options: it also accepts their aliases."""
    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **values: Any) -> Any:
            for alias, key in aliases(command).items():
                if alias in values and key in values:
                    raise TypeError(f"{key} is given twice, as {alias} too")
                if alias in values:
                    values[key] = values.pop(alias)
            return function(*args, **values)
        return cast(F, call)
    return decorate


def option_table(command: str) -> list[dict[str, Any]]:
    """The options of a command: key, type, words, default, heading, help, methods without it, and alias."""
    rows = []
    session = Session()
    for i in range(lib.kn_options_count(encoded(command))):
        info = _abi.kn_option_info(size=ctypes.sizeof(_abi.kn_option_info))
        session.do("option_at", encoded(command), i, ctypes.byref(info))
        row = {name: getattr(info, name) for name, *_ in info._fields_ if name not in ("size", "letter")}
        rows.append({k: v.decode() if isinstance(v, bytes) else v for k, v in row.items()})
    return rows


def _warn_about_core() -> None:
    """Warn once if OpenBLAS does not recognise the processor, because fits are then slow."""
    global _core_warned
    if _core_warned:
        return
    _core_warned = True
    core = build()
    if core["better_core"]:
        warnings.warn(
            f"OpenBLAS does not recognise this processor and uses its code for {core['core']}: set OPENBLAS_CORETYPE="
            f"{core['better_core']} before starting Python to make kronorm and numpy faster",
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
    """A tqdm bar for each stage."""

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
