"""Memory, files and threads do not grow over many calls, good or refused; and nothing waits for the garbage to be
collected."""
from __future__ import annotations

import gc
import os
import pickle
import tempfile
import threading
import tracemalloc
import unittest
import warnings
import weakref
from typing import Any, Callable

import numpy as np

import kronorm
from cohort import cohort
from kronorm import NormativeModel, _library

ROOM = 4 << 20  # bytes that may come and go
SMALL = 2000  # bytes a call: less than any array of it, more than lists of free objects that Python fills


def setUpModule() -> None:
    warnings.simplefilter("ignore")


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def handles() -> int:
    """Things of the library that live."""
    return sum(1 for each in gc.get_objects() if type(each) is _library.Handle)


def refused(call: Callable[..., Any], *arguments: Any) -> None:
    try:
        call(*arguments)
    except Exception:
        return
    raise AssertionError("it was not refused")


class Leaks(unittest.TestCase):
    model: NormativeModel

    @classmethod
    def setUpClass(cls) -> None:
        cls.X, cls.Y = cohort(60, 8)
        cls.new, cls.responses = cohort(60, 8, seed=2, first=500)
        cls.model = NormativeModel(components=2, calibrate="none").fit(cls.X, cls.Y)

    def steady(self, call: Callable[[], Any], n: int, cycles: int = 0) -> None:
        """n calls need no more than the first few did, without a collection of garbage; `cycles`: things a call that
        others than this package leave to it."""
        for _ in range(max(5, n // 10)):
            call()
        gc.collect()
        gc.disable()
        try:
            tracemalloc.start()
            for _ in range(10):
                call()
            gc.collect()
            python = tracemalloc.get_traced_memory()[0]
            for _ in range(20):
                call()
            self.assertLessEqual(gc.collect(), 20 * cycles, "things that wait for the garbage to be collected")
            grown = tracemalloc.get_traced_memory()[0] - python
            tracemalloc.stop()
            before, files, threads, living = resident(), open_files(), threading.active_count(), handles()
            for _ in range(n):
                call()
            self.assertLess(resident() - before, ROOM)
            self.assertLess(grown, 20 * SMALL, "bytes of Python in 20 calls")
            self.assertEqual((open_files(), threading.active_count(), handles()), (files, threads, living))
        finally:
            tracemalloc.stop()
            gc.enable()

    def test_a_thousand_predictions(self) -> None:
        self.steady(lambda: self.model.predict(self.new, return_std=True), 1000)

    def test_scores(self) -> None:
        def call() -> None:
            scores = self.model.scores(self.new, self.responses, label=np.arange(60) < 5)
            scores.z, scores.summary
        self.steady(call, 200)

    def test_tables_of_scores(self) -> None:
        self.steady(lambda: self.model.score_participants(self.new, self.responses), 50)

    def test_fits(self) -> None:
        self.steady(lambda: NormativeModel(components=2, calibrate="none").fit(self.X, self.Y), 50)

    def test_the_same_model_again(self) -> None:
        model = NormativeModel(components=2, calibrate="none")
        self.steady(lambda: model.fit(self.X, self.Y), 30)

    def test_refusals(self) -> None:
        bad = self.new.assign(site="nowhere")
        for call in (lambda: refused(self.model.predict, bad), lambda: refused(self.model.predict, self.new.drop(columns="age")),
                     lambda: refused(NormativeModel(components=99).fit, self.X, self.Y),
                     lambda: refused(NormativeModel(method="none").fit, self.X, self.Y),
                     lambda: refused(self.model.zscore, self.new, self.responses[:40]),
                     lambda: refused(kronorm.load, "nowhere"), lambda: refused(NormativeModel.from_bytes, b"no model")):
            self.steady(call, 100)

    def test_pickles(self) -> None:
        self.steady(lambda: pickle.loads(pickle.dumps(self.model)), 200)

    def test_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")

            def call() -> None:
                self.model.save(path, force=True)
                kronorm.load(path).close()
            self.steady(call, 100)
        self.steady(lambda: self.model.centiles("age", grid=3), 15)

    def test_what_a_model_knows(self) -> None:
        def call() -> None:
            model = self.model
            model.info_, model.lml_, model.ids_, model.components_, model.noise_, model.cv_zscores_, model.response_names_
        self.steady(call, 300)

    def test_exceptions_of_progress(self) -> None:
        def stop(*at: Any) -> None:
            raise InterruptedError
        model = NormativeModel(components=2, progress=stop)
        self.steady(lambda: refused(model.fit, self.X, self.Y), 30)

    def test_responses_are_let_go(self) -> None:
        """After a call nobody holds the array of the caller, and after a model its memory is free."""
        for how in ("fit", "zscore", "refused"):
            Y = np.array(self.Y if how != "zscore" else self.responses)
            gone = weakref.ref(Y)
            gc.disable()
            try:
                if how == "fit":
                    NormativeModel(components=2, calibrate="none").fit(self.X, Y)
                elif how == "zscore":
                    self.model.zscore(self.new, Y)
                else:
                    refused(NormativeModel(components=99).fit, self.X, Y)
                del Y
                self.assertIsNone(gone(), how)
            finally:
                gc.enable()

    def test_a_model_is_freed_with_its_last_reader(self) -> None:
        gc.collect()
        gc.disable()
        try:
            before = handles()
            model = pickle.loads(pickle.dumps(self.model))
            basis, scores = model.components_, model.scores(self.new, self.responses)
            z = scores.z
            del model, scores
            self.assertEqual(handles(), before + 2)  # the model by its basis, the scores by z
            self.assertTrue(np.isfinite(basis).all() and np.isfinite(z).all())
            del basis, z
            self.assertEqual(handles(), before)
        finally:
            gc.enable()


if __name__ == "__main__":
    unittest.main()
