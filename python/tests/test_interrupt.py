"""Ctrl-C at any moment of any call: a KeyboardInterrupt comes, models are as they were before, nothing goes on behind
the caller's back, and the next call is as good as ever. Exceptions of a progress function are the caller's own."""
from __future__ import annotations

import ctypes
import faulthandler
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from typing import Any, Callable
from unittest import mock

import numpy as np

import kronorm
from cohort import cohort, environment
from kronorm import NormativeModel, _abi
from kronorm._library import lib

LONG: dict[str, Any] = {"restarts": 1000, "max_evals": 1_000_000}  # a fit that nobody would wait for


def setUpModule() -> None:
    faulthandler.dump_traceback_later(300, exit=True)  # a call that does not come back is a failure
    warnings.simplefilter("ignore")


def tearDownModule() -> None:
    faulthandler.cancel_dump_traceback_later()


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupted(call: Callable[[], Any], after: float, times: int = 1) -> tuple[Any, bool]:
    """What a call returns, and whether a KeyboardInterrupt came out of it: SIGINT comes after so many seconds."""
    def send() -> None:
        time.sleep(after)
        for _ in range(times):
            interrupt()

    timer = threading.Thread(target=send)
    out, came = None, False
    try:
        timer.start()
        out = call()
        timer.join()
        for _ in range(1000):  # where Python looks for signals
            pass
    except KeyboardInterrupt:
        came = True
    while True:
        try:
            timer.join()
            for _ in range(1000):
                pass
            return out, came
        except KeyboardInterrupt:  # the second of two, after the call
            pass


def workers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("kronorm")]


def settled() -> None:
    """Of two interrupts at once, the work and the removal of its files end by themselves."""
    deadline = time.monotonic() + 60
    while workers() and time.monotonic() < deadline:
        time.sleep(0.005)


class Interrupts(unittest.TestCase):
    model: NormativeModel

    @classmethod
    def setUpClass(cls) -> None:
        cls.X, cls.Y = cohort(90, 12)
        cls.model = NormativeModel(components=3).fit(cls.X, cls.Y)
        cls.bytes = cls.model.to_bytes()

    def moments(self, call: Callable[[], Any], n: int = 30) -> list[float]:
        """From a millisecond to a little after the end."""
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        return [float(t) for t in np.geomspace(0.001, 1.2 * took + 0.002, n)]

    def test_fit_at_any_moment(self) -> None:
        fresh = NormativeModel(components=3)
        came = 0
        for t in self.moments(lambda: NormativeModel(components=3).fit(self.X, self.Y)):
            model, old = NormativeModel(components=3), NormativeModel(components=3).fit(self.X[:60], self.Y[:60])
            before = old.to_bytes()
            out, stopped = interrupted(lambda: model.fit(self.X, self.Y), t)
            if out is None:
                came += 1
                self.assertTrue(stopped)
                self.assertEqual(model.__sklearn_is_fitted__(), "_native" in vars(model))
                if not model.__sklearn_is_fitted__():
                    self.assertEqual(set(vars(model)), set(vars(fresh)))
                    with self.assertRaisesRegex(ValueError, "not fitted yet"):
                        model.predict(self.X)
            if model.__sklearn_is_fitted__():
                self.assertEqual(model.to_bytes(), self.bytes)
            interrupted(lambda: old.fit(self.X, self.Y), t)
            self.assertIn(old.to_bytes(), (before, self.bytes))  # one or the other
            old.predict(self.X)
        self.assertGreater(came, 3)
        self.assertEqual(fresh.fit(self.X, self.Y).to_bytes(), self.bytes)
        self.assertEqual(workers(), [])

    def test_scores_at_any_moment(self) -> None:
        many = self.X.sample(3000, replace=True, random_state=1).assign(participant_id=[f"new-{i}" for i in range(3000)])
        of_many = self.Y.to_numpy()[np.arange(3000) % 90]
        usual = self.model.zscore(many, of_many)
        for t in self.moments(lambda: self.model.zscore(many, of_many), 15):
            out, stopped = interrupted(lambda: self.model.zscore(many, of_many), t)
            self.assertTrue(stopped or out is not None)
            if out is not None:
                np.testing.assert_array_equal(out, usual)
        np.testing.assert_array_equal(self.model.zscore(many, of_many), usual)
        self.assertEqual(workers(), [])

    def test_adapt_cv_and_files_at_any_moment(self) -> None:
        rome, of_rome = cohort(20, 12, seed=4, first=700, sites=("Rome",))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        room = pathlib.Path(folder.name)
        before, tempfile.tempdir = tempfile.tempdir, str(room)
        self.addCleanup(setattr, tempfile, "tempdir", before)
        path = room / "model.safetensors"

        def saved() -> bytes:
            self.model.save(path, force=True)
            return path.read_bytes()

        calls: list[Callable[[], Any]] = [
            lambda: self.model.adapt(rome, of_rome).to_bytes(), saved, lambda: self.model.centiles("age", grid=5).to_csv(),
            lambda: NormativeModel(components=2).cv(self.X, self.Y, folds=3).z.tobytes()]
        for i, call in enumerate(calls):
            usual = call()
            for t in self.moments(call, 8):
                with self.subTest(call=i, after=t):
                    out, stopped = interrupted(call, t)
                    self.assertIn(out, (None, usual))
                    self.assertTrue(stopped or out is not None)
                    if path.exists():
                        self.assertEqual(path.read_bytes(), self.bytes)
                    settled()
                    self.assertLessEqual({file.name for file in room.iterdir()}, {"model.safetensors"})
            self.assertEqual(call(), usual)
        self.assertEqual(workers(), [])

    def test_a_long_fit_stops_long_before_its_end(self) -> None:
        stops: list[str] = []
        fit = lib.kn_fit

        def heard(*arguments: Any) -> int:
            """The library's fit, and why it ended: by itself or because it was told to."""
            status: int = fit(*arguments)
            why = b"cancelled" if status == _abi.KN_ERR_CANCELLED else lib.kn_model_text(arguments[-1]._obj, b"stop")
            stops.append(why.decode())
            return status

        with mock.patch.object(lib, "kn_fit", heard):
            for times in (1, 2, 5):
                out, came = interrupted(lambda: NormativeModel(**LONG).fit(self.X, self.Y), 0.2, times)
                self.assertIsNone(out)
                self.assertTrue(came)
            settled()
        self.assertEqual(stops, ["cancelled"] * 3)
        self.assertEqual(workers(), [])

    def test_in_the_progress_function(self) -> None:
        heard: list[str] = []

        def hear(stage: str, done: int, total: int, lml: float) -> None:
            heard.append(stage)
            interrupt()

        model = NormativeModel(**LONG, progress=hear)
        with self.assertRaises(KeyboardInterrupt):
            model.fit(self.X, self.Y)
        self.assertEqual(len(heard), 1)  # and it is not called again
        self.assertFalse(model.__sklearn_is_fitted__())
        self.assertEqual(workers(), [])

    def test_exceptions_of_the_progress_function_are_the_callers(self) -> None:
        class Mine(Exception):
            pass

        error = Mine("enough")

        def hear(*at: Any) -> None:
            raise error

        model = NormativeModel(**LONG, progress=hear)
        with self.assertRaises(Mine) as caught:
            model.fit(self.X, self.Y)
        self.assertIs(caught.exception, error)
        self.assertFalse(model.__sklearn_is_fitted__())
        for other in (SystemExit(3), GeneratorExit(), StopIteration()):
            error = other  # type: ignore[assignment]
            with self.assertRaises(type(other)):
                model.fit(self.X, self.Y)
        with self.assertRaisesRegex(TypeError, "positional argument"):
            NormativeModel(**LONG, progress=lambda: None).fit(self.X, self.Y)  # type: ignore[arg-type, misc]
        self.assertEqual(workers(), [])

    def test_a_progress_function_may_use_kronorm(self) -> None:
        inner: list[bytes] = []

        def hear(*at: Any) -> None:
            if not inner:
                inner.append(NormativeModel(components=3).fit(self.X, self.Y).to_bytes())

        model = NormativeModel(components=3, progress=hear).fit(self.X, self.Y)
        self.assertEqual([model.to_bytes()], inner)
        self.assertEqual(inner, [self.bytes])

    def test_an_exception_that_another_thread_sends(self) -> None:
        """Threads other than the main one hear of no signals; what is raised in them from outside stops work too."""
        class Stop(Exception):
            pass

        ended: list[Any] = []
        going = threading.Event()

        def run() -> None:
            try:
                NormativeModel(**LONG, progress=lambda *at: going.set()).fit(self.X, self.Y)
            except Stop as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        self.assertTrue(going.wait(120))
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Stop))
        thread.join(120)
        self.assertEqual([type(error) for error in ended], [Stop])
        self.assertEqual(workers(), [])

    def test_the_main_thread_may_be_interrupted_while_another_fits(self) -> None:
        out: list[bytes] = []
        thread = threading.Thread(target=lambda: out.append(NormativeModel(components=3).fit(self.X, self.Y).to_bytes()))
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            interrupt()
            for _ in range(1000):
                pass
        thread.join(120)
        self.assertEqual(out, [self.bytes])

    def test_other_signals_do_not_stop_work(self) -> None:
        seen: list[int] = []
        before = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        try:
            got = NormativeModel(components=3).fit(self.X, self.Y).to_bytes()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertEqual(got, self.bytes)
        self.assertTrue(seen)

    def test_python_ends_while_a_thread_fits(self) -> None:
        code = ("import threading, time, kronorm\nfrom cohort import cohort\nX, Y = cohort(90, 12)\ngo = threading.Event()\n"
                "m = kronorm.NormativeModel(restarts=1000, max_evals=1000000, progress=lambda *at: go.set())\n"
                "threading.Thread(target=m.fit, args=(X, Y), daemon=True).start()\ngo.wait()\nprint('end')\n")
        run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment(), text=True, capture_output=True,
                             timeout=120)
        self.assertEqual((run.returncode, run.stdout), (0, "end\n"), run.stderr)


class Warnings(unittest.TestCase):
    def setUp(self) -> None:
        self.X, self.Y = cohort(60, 5)
        self.Y["region 2"] = 3.0  # constant: left out, with a warning

    def test_a_warning_that_is_an_error_stops_the_fit(self) -> None:
        model = NormativeModel(components=2)
        with warnings.catch_warnings():
            warnings.simplefilter("error", kronorm.KronormWarning)
            with self.assertRaisesRegex(kronorm.KronormWarning, "constant"):
                model.fit(self.X, self.Y)
        self.assertFalse(model.__sklearn_is_fitted__())
        self.assertEqual(workers(), [])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.fit(self.X, self.Y)
        self.assertTrue([w for w in told if "constant" in str(w.message) and w.filename == __file__], told)
        self.assertTrue([w for w in model.warnings_ if "constant" in w])

    def test_all_warnings_as_errors(self) -> None:
        """Of data that are in order there is nothing to say."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "OpenBLAS does not recognise")
            model = NormativeModel(components=2).fit(self.X, self.Y.drop(columns="region 2"))
            new, of_new = cohort(10, 4, seed=2, first=500)
            model.zscore(new, of_new.to_numpy())
            model.predict(new, return_std=True)


class Bars(unittest.TestCase):
    def test_with_and_without_tqdm(self) -> None:
        X, Y = cohort(60, 5)
        usual = NormativeModel(components=2).fit(X, Y).to_bytes()
        real = sys.stderr
        for there in (True, False):
            saved = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "tqdm"}
            if not there:
                sys.modules["tqdm"] = None  # type: ignore[assignment]
            sys.stderr = io.StringIO()
            try:
                got, shown = NormativeModel(components=2, progress=True).fit(X, Y).to_bytes(), sys.stderr.getvalue()
            finally:
                sys.stderr = real
                sys.modules.pop("tqdm", None)
                sys.modules.update(saved)
            self.assertEqual(got, usual)
            if not there:
                self.assertEqual(shown, "")

    def test_a_bar_is_closed_with_its_work(self) -> None:
        """Of an interrupted one too."""
        try:
            import tqdm.auto
        except ImportError:
            self.skipTest("tqdm is not there")
        made: list[Any] = []

        class Bar:
            n = 0

            def __init__(self, **given: Any) -> None:
                self.open, self.total = True, None
                made.append(self)

            def update(self, by: int) -> None:
                self.n += by
                if stop:
                    interrupt()

            def close(self) -> None:
                self.open = False

        X, Y = cohort(60, 5)
        real, tqdm.auto.tqdm = tqdm.auto.tqdm, Bar
        self.addCleanup(setattr, tqdm.auto, "tqdm", real)
        stop = False
        NormativeModel(components=2, progress=True).fit(X, Y)
        self.assertTrue(made)
        self.assertEqual([bar for bar in made if bar.open], [])
        made.clear()
        stop = True
        with self.assertRaises(KeyboardInterrupt):
            NormativeModel(**LONG, progress=True).fit(X, Y)
        self.assertEqual([bar.open for bar in made], [False])


if __name__ == "__main__":
    unittest.main()
