"""Memory that runs out at any allocation of any call: a MemoryError with a sentence, or the usual result; the same call
then works, and files are there whole or not at all. Allocations of the library fail here, not those of Python."""
from __future__ import annotations

import os
import pathlib
import pickle
import tempfile
import unittest
import warnings
from typing import Any, Callable

FAILING = os.environ.get("KRONORM_FAILING")
if not FAILING:
    raise unittest.SkipTest("KRONORM_FAILING names no library whose allocations can fail")
os.environ["KRONORM_LIBRARY"] = FAILING

import ctypes  # noqa: E402

import numpy as np  # noqa: E402

import kronorm  # noqa: E402
from cohort import cohort  # noqa: E402
from kronorm import NormativeModel, _session  # noqa: E402
from kronorm._library import lib  # noqa: E402

lib.kn_test_fail_from_now.argtypes, lib.kn_test_fail_from_now.restype = [ctypes.c_long], None
lib.kn_test_left.restype = ctypes.c_long
OPTIONS: dict[str, Any] = {"components": 1, "calibrate": "none", "max_evals": 3}


def setUpModule() -> None:
    warnings.simplefilter("ignore")


def with_failure(k: int, call: Callable[[], Any]) -> tuple[Any, bool, BaseException | None]:
    """What the call returns, whether the k-th allocation came, and what it raised."""
    lib.kn_test_fail_from_now(k)
    try:
        out, error = call(), None
    except Exception as raised:
        out, error = None, raised
    left = lib.kn_test_left()
    lib.kn_test_fail_from_now(0)
    return out, left == 0, error


class MemoryOut(unittest.TestCase):
    model: NormativeModel

    @classmethod
    def setUpClass(cls) -> None:
        cls.X, cls.Y = cohort(24, 3)
        cls.new, cls.responses = cohort(4, 3, seed=2, first=500)
        cls.rome, cls.of_rome = cohort(5, 3, seed=3, first=900, sites=("Rome",))
        cls.model = NormativeModel(**OPTIONS).fit(cls.X, cls.Y)
        cls.bytes = cls.model.to_bytes()

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def everywhere(self, call: Callable[[], Any], same: Callable[[Any], Any] = lambda out: out,
                   between: Callable[[], None] = lambda: None, least: int = 20) -> None:
        """The call with its first, second, ... allocation failing; `same`: what has to be as usual; `between`: what
        has to hold after a failure."""
        usual, k, came, refused = same(call()), 1, True, 0
        while came:
            out, came, error = with_failure(k, call)
            if error is not None:
                self.assertTrue(came, f"{error!r} without any failure of memory")
                self.assertIsInstance(error, MemoryError, f"{error!r} at {k}")
                self.assertRegex(str(error), "memory")
                refused += 1
                between()
            else:
                self.assertEqual(same(out), usual, k)
            if k % 20 == 1:
                self.assertEqual(same(call()), usual, k)
            k += 1 + max(0, k - 200) // 10
        self.assertGreaterEqual(refused, least)
        self.assertEqual(same(call()), usual)

    def test_fit(self) -> None:
        model = NormativeModel(**OPTIONS)

        def refit() -> bytes:
            model.fit(self.X, self.Y)
            return model.to_bytes()

        def unchanged() -> None:
            """The model of the fit before is still there."""
            self.assertEqual(model.to_bytes(), self.bytes)

        self.everywhere(refit, between=unchanged, least=200)

    def test_an_unfitted_model_stays_unfitted(self) -> None:
        for k in (1, 5, 40, 300):
            model = NormativeModel(**OPTIONS)
            _, _, error = with_failure(k, lambda: model.fit(self.X, self.Y))
            self.assertIsInstance(error, kronorm.OutOfMemory if k > 1 else MemoryError)
            self.assertFalse(model.__sklearn_is_fitted__())
            self.assertFalse([name for name in vars(model) if name.endswith("_")])

    def test_predict(self) -> None:
        self.everywhere(lambda: self.model.predict(self.new, return_std=True), lambda out: [a.tobytes() for a in out])

    def test_scores(self) -> None:
        def call() -> Any:
            s = self.model.scores(self.new, self.responses, label=np.arange(4) < 2, maps=("z", "fdr"))
            return s.z.tobytes(), s.fdr.tobytes(), repr(s.participants.to_numpy().tolist()), s.responses.to_csv(), s.summary["counts"]
        self.everywhere(call)

    def test_adapt(self) -> None:
        self.everywhere(lambda: self.model.adapt(self.rome, self.of_rome).to_bytes())

    def test_centiles(self) -> None:
        self.everywhere(lambda: self.model.centiles("age", grid=3).to_csv())

    def test_what_it_knows_of_itself(self) -> None:
        def call() -> Any:
            model = pickle.loads(self.pickled)  # without what is remembered
            return model.info_, model.noise_.tobytes(), model._used_features(), model._fitted().labels()
        self.pickled = pickle.dumps(self.model)
        self.everywhere(call)

    def test_bytes_and_pickles(self) -> None:
        self.everywhere(lambda: NormativeModel.from_bytes(self.model.to_bytes()).to_bytes())
        self.everywhere(lambda: pickle.loads(pickle.dumps(self.model)), lambda model: model.to_bytes())

    def test_save_and_load(self) -> None:
        path = self.folder / "model.safetensors"

        def fresh() -> bytes:
            path.unlink(missing_ok=True)
            self.model.save(path)
            return kronorm.load(path).to_bytes()

        def whole() -> None:
            left = [file.name for file in self.folder.iterdir()]
            self.assertIn(left, ([], ["model.safetensors"]))
            if left:
                self.assertEqual(path.read_bytes(), self.bytes)

        self.everywhere(fresh, between=whole)
        path.write_text("what was there")

        def over() -> None:
            self.model.save(path, force=True)

        def old_or_new() -> None:
            self.assertEqual([file.name for file in self.folder.iterdir()], ["model.safetensors"])
            self.assertIn(path.read_bytes(), (b"what was there", self.bytes))

        self.everywhere(over, between=old_or_new, least=5)

    def test_export_and_report(self) -> None:
        out, page = self.folder / "shared.safetensors", self.folder / "page.html"
        self.everywhere(lambda: (self.model.export(out, force=True), out.read_bytes()), least=20)
        for k in (1, 3, 10, 30, 100, 300, 1000, 3000):
            _, came, error = with_failure(k, lambda: self.model.report(page, self.new, self.responses))
            self.assertTrue(error is None or isinstance(error, MemoryError), repr(error))
            self.assertEqual(page.exists(), error is None)
            page.unlink(missing_ok=True)

    def test_options_are_not_remembered_by_half(self) -> None:
        def call() -> Any:
            _session._keys.clear()
            return kronorm.options("fit").to_csv(), _session.option_keys("score")
        self.everywhere(call, least=1)

    def test_no_context(self) -> None:
        for call in (lambda: NormativeModel(**OPTIONS).fit(self.X, self.Y), lambda: self.model.predict(self.new),
                     lambda: kronorm.options("fit"), lambda: self.model.to_bytes()):
            _, _, error = with_failure(1, call)
            self.assertIsInstance(error, MemoryError)
            call()


if __name__ == "__main__":
    unittest.main()
