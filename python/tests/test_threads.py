"""Threads and children: fits at once, a model that many share, one that is closed or fitted again under others, and what
fork and new processes have of it. Bits are those of one thread alone."""
from __future__ import annotations

import concurrent.futures
import faulthandler
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
from typing import Any, Callable

import numpy as np

from cohort import cohort, environment
from kronorm import NormativeModel

GUARD = 200  # seconds after which a child or a thread hangs
LONG: dict[str, Any] = {"restarts": 1000, "max_evals": 1_000_000}


def setUpModule() -> None:
    faulthandler.dump_traceback_later(500, exit=True)
    warnings.simplefilter("ignore")


def tearDownModule() -> None:
    faulthandler.cancel_dump_traceback_later()


def fitted_bytes(X: Any, Y: Any) -> bytes:
    """A fit in whatever process this is."""
    warnings.simplefilter("ignore")
    content: bytes = NormativeModel(components=3).fit(X, Y).to_bytes()
    return content


def z_bytes(model: NormativeModel, X: Any, Y: Any) -> bytes:
    warnings.simplefilter("ignore")
    return model.zscore(X, Y).tobytes()


class Shared(unittest.TestCase):
    model: NormativeModel

    @classmethod
    def setUpClass(cls) -> None:
        cls.X, cls.Y = cohort(60, 8)
        cls.new, cls.responses = cohort(20, 8, seed=2, first=500)
        cls.model = NormativeModel(components=3).fit(cls.X, cls.Y)
        cls.bytes, cls.z = cls.model.to_bytes(), cls.model.zscore(cls.new, cls.responses).tobytes()
        cls.mean = cls.model.predict(cls.new).tobytes()

    def at_once(self, *calls: Callable[[], Any]) -> list[Any]:
        """What the calls return that start together, each in its thread; exceptions too."""
        gate, out = threading.Barrier(len(calls)), [None] * len(calls)

        def run(i: int) -> None:
            gate.wait(GUARD)
            try:
                out[i] = calls[i]()
            except Exception as error:
                out[i] = error  # type: ignore[call-overload]

        threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(GUARD)
            self.assertFalse(thread.is_alive())
        return out


class Threads(Shared):
    def test_two_fits_at_once(self) -> None:
        out = self.at_once(*[lambda: fitted_bytes(self.X, self.Y)] * 2, lambda: fitted_bytes(self.X[:50], self.Y[:50]))
        self.assertEqual(out, [self.bytes, self.bytes, fitted_bytes(self.X[:50], self.Y[:50])])

    def test_many_share_a_model(self) -> None:
        def work() -> Any:
            return [(self.model.predict(self.new).tobytes(), self.model.zscore(self.new, self.responses).tobytes(),
                     self.model.to_bytes()) for _ in range(10)]
        self.assertEqual(self.at_once(*[work] * 4), [[(self.mean, self.z, self.bytes)] * 10] * 4)

    def test_a_model_whose_features_nobody_has_asked_for(self) -> None:
        """What is remembered of it may be asked for by many first."""
        for _ in range(5):
            model = pickle.loads(pickle.dumps(self.model))
            self.assertEqual(self.at_once(*[lambda: z_bytes(model, self.new, self.responses)] * 4), [self.z] * 4)

    def test_close_while_others_score(self) -> None:
        for _ in range(10):
            model = pickle.loads(pickle.dumps(self.model))
            *got, closed = self.at_once(*[lambda: [z_bytes(model, self.new, self.responses) for _ in range(5)]] * 3, model.close)
            self.assertIsNone(closed)
            for one in got:  # all of it, or refused by a sentence
                self.assertTrue(one == [self.z] * 5 or isinstance(one, ValueError) and "closed" in str(one), repr(one)[:300])

    def test_closed_in_the_middle_of_a_call(self) -> None:
        """It stays until the call that uses it has ended."""
        model = pickle.loads(pickle.dumps(self.model))
        model.progress = lambda *at: model.close() if model.__sklearn_is_fitted__() else None
        self.assertEqual(model.zscore(self.new, self.responses).tobytes(), self.z)
        with self.assertRaisesRegex(ValueError, "closed"):
            model.zscore(self.new, self.responses)

    def test_fitted_again_while_others_score(self) -> None:
        other = NormativeModel(components=3).fit(self.X[:50], self.Y[:50])
        both = (self.z, other.zscore(self.new, self.responses).tobytes())
        model = pickle.loads(pickle.dumps(self.model))

        def refit() -> None:
            for n in (50, 60, 50):
                model.fit(self.X[:n], self.Y[:n])

        *got, refitted = self.at_once(*[lambda: [z_bytes(model, self.new, self.responses) for _ in range(10)]] * 2, refit)
        self.assertIsNone(refitted)
        for each in (z for one in got for z in one):
            self.assertIn(each, both)

    def test_one_is_dropped_while_its_results_live(self) -> None:
        model = pickle.loads(pickle.dumps(self.model))
        scores, basis, z = model.scores(self.new, self.responses), model.components_, model.cv_zscores_
        before = basis.copy(), z.copy(), scores.z.tobytes()
        model.close()
        del model
        NormativeModel(components=3).fit(self.X, self.Y)  # where it was
        np.testing.assert_array_equal(basis, before[0])
        np.testing.assert_array_equal(z, before[1])
        self.assertEqual((scores.z.tobytes(), len(scores.participants)), (self.z, 20))

    def test_pools(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(z_bytes, self.model, self.new, self.responses) for _ in range(12)]
            fits = [pool.submit(fitted_bytes, self.X, self.Y) for _ in range(3)]
            self.assertEqual({f.result(GUARD) for f in futures}, {self.z})
            self.assertEqual({f.result(GUARD) for f in fits}, {self.bytes})
        try:
            import joblib
        except ImportError:
            self.skipTest("joblib is not there")
        for backend in ("threading", "loky"):
            out = joblib.Parallel(2, backend=backend, timeout=GUARD)(
                joblib.delayed(call)(*args) for call, args in ((z_bytes, (self.model, self.new, self.responses)),
                                                               (fitted_bytes, (self.X, self.Y))))
            self.assertEqual(out, [self.z, self.bytes], backend)

    def test_numbers_of_threads_do_not_change_bits(self) -> None:
        for threads in (0, 1, 2, 3):
            self.assertEqual(NormativeModel(components=3, threads=threads).fit(self.X, self.Y).to_bytes(),
                             self.bytes)
            model = pickle.loads(pickle.dumps(self.model)).set_params(threads=threads)
            self.assertEqual(z_bytes(model, self.new, self.responses), self.z)


class Children(Shared):
    def child(self, call: Callable[[], bool]) -> None:
        """What fork makes does it and says yes."""
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.alarm(GUARD)  # one that hangs is a failure
                code = 0 if call() else 3
            except BaseException as error:
                sys.stderr.write(f"child: {error!r}\n")
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        self.assertEqual(status, 0, "killed after it hung" if os.WIFSIGNALED(status) else "it failed")

    def same(self) -> bool:
        return (z_bytes(self.model, self.new, self.responses) == self.z and fitted_bytes(self.X, self.Y) == self.bytes
                and pickle.loads(pickle.dumps(self.model)).to_bytes() == self.bytes)

    def test_a_child_after_a_fit(self) -> None:
        self.child(self.same)
        self.assertTrue(self.same())

    def test_a_child_of_a_child(self) -> None:
        def call() -> bool:
            self.child(self.same)
            return self.same()
        self.child(call)

    def test_children_while_another_thread_fits(self) -> None:
        going, stop = threading.Event(), threading.Event()

        def hear(*at: Any) -> None:
            going.set()
            if stop.is_set():
                raise InterruptedError

        def fit() -> None:
            try:
                NormativeModel(**LONG, progress=hear).fit(self.X, self.Y)
            except InterruptedError:
                pass

        thread = threading.Thread(target=fit, daemon=True)
        thread.start()
        self.assertTrue(going.wait(GUARD))
        try:
            for _ in range(5):
                self.child(self.same)
                time.sleep(0.01)
        finally:
            stop.set()
            thread.join(GUARD)
        self.assertFalse(thread.is_alive())
        self.assertTrue(self.same())

    def test_a_child_in_the_middle_of_a_call(self) -> None:
        """A progress function may fork: the child has what it needs for calls of its own."""
        done: list[bool] = []

        def hear(*at: Any) -> None:
            if not done:
                done.append(True)
                self.child(self.same)

        self.assertEqual(NormativeModel(components=3, progress=hear).fit(self.X, self.Y).to_bytes(), self.bytes)
        self.assertEqual(done, [True])

    def test_processes(self) -> None:
        for way in ("fork", "spawn", "forkserver"):
            with self.subTest(way=way):
                with multiprocessing.get_context(way).Pool(1) as pool:
                    z = pool.apply_async(z_bytes, (self.model, self.new, self.responses))
                    fit = pool.apply_async(fitted_bytes, (self.X, self.Y))
                    self.assertEqual((z.get(GUARD), fit.get(GUARD)), (self.z, self.bytes))

    def test_grid_search_of_processes(self) -> None:
        try:
            from sklearn.model_selection import GridSearchCV
        except ImportError:
            self.skipTest("scikit-learn is not there")
        search = GridSearchCV(NormativeModel(calibrate="none"), {"components": [1, 2]}, cv=2, n_jobs=2).fit(self.X, self.Y)
        alone = GridSearchCV(NormativeModel(calibrate="none"), {"components": [1, 2]}, cv=2).fit(self.X, self.Y)
        np.testing.assert_array_equal(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])

    def test_a_model_of_a_module_at_the_end(self) -> None:
        """Models and scores that live until Python ends do no harm."""
        code = ("import sys, kronorm\nfrom cohort import cohort\nX, Y = cohort(40, 5)\n"
                "m = kronorm.NormativeModel(components=2).fit(X, Y)\ns = m.scores(X, Y)\nz = s.z\nsys.m = m\n"
                "class A:\n    def __del__(self, z=z, m=m): z.sum(); m.predict(X)\na = A()\nsys.a = a\nprint('end')\n")
        run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment(), text=True, capture_output=True,
                             timeout=GUARD)
        self.assertEqual((run.returncode, run.stdout), (0, "end\n"), run.stderr)


if __name__ == "__main__":
    unittest.main()
