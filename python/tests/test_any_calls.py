"""Calls in any order with any input, right and wrong, in one process: never a crash, exceptions of few kinds, and models
that stay what they are. Seeded: what fails does so again."""
from __future__ import annotations

import os
import pathlib
import pickle
import tempfile
import unittest
import warnings
from typing import Any, Callable

import numpy as np
import pandas

import kronorm
from cohort import cohort
from kronorm import NormativeModel

CALLS = int(os.environ.get("KRONORM_TEST_CALLS", "300"))
# what a caller can be told; anything else is a fault of the package
EXPECTED = (ValueError, TypeError, OSError, MemoryError, AttributeError, kronorm.NumericError, ZeroDivisionError)


def setUpModule() -> None:
    warnings.simplefilter("ignore")


class Player:
    """Makes input up, keeps models with what they said of the same people, and asks them again."""

    def __init__(self, seed: int, folder: pathlib.Path) -> None:
        self.rng, self.folder = np.random.default_rng(seed), folder
        self.X, self.Y = cohort(40, 4)
        self.new, self.R = cohort(9, 4, seed=2, first=500)
        self.models: list[tuple[NormativeModel, bytes]] = []
        self.told: dict[str, int] = {}

    def pick(self, *options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def odd(self) -> Any:
        """Anything at all."""
        return self.pick(None, 0, -1, 2 ** 70, np.nan, np.inf, "", "x", "a\0b", "年", [], {}, [1, "a"], object(), True, b"x",
                         np.array(3), np.zeros((0, 0)), print, 1j, ("a",), {"a": 1})

    def people(self, X: Any) -> Any:
        """Covariates, right or not quite."""
        n, A = len(X), X.copy()
        i, j = int(self.rng.integers(n)), self.pick("age", "sex", "site", "participant_id")
        way = self.rng.integers(14)
        if way == 0:
            A[j] = self.odd_column(n)
        elif way == 1:
            A = A.drop(columns=j)
        elif way == 2:
            A = A[list(self.rng.permutation(A.columns))]
        elif way == 3:
            A[j] = A[j].astype(object)
            A.iloc[i, list(A.columns).index(j)] = self.odd_cell()
        elif way == 4:
            A = A.to_numpy()
        elif way == 5:
            A = A[["age"]].to_numpy()
        elif way == 6:
            A = {name: list(A[name]) for name in A}
        elif way == 7:
            A = A.iloc[:int(self.rng.integers(n))]
        elif way == 8:
            A = self.odd()
        elif way == 9:
            A = A.rename(columns={j: self.pick("", "a\0", "x" * 2000, "年", "age", 3)})
        elif way == 10:
            A = A.assign(more=self.odd_column(n))
        return A

    def odd_cell(self) -> Any:
        return self.pick(None, np.nan, "", "x", -np.inf, 1e308, [1], "n/a", "a\0", 10 ** 400, True)

    def odd_column(self, n: int) -> Any:
        return self.pick(np.zeros(n), np.full(n, np.nan), ["x"] * n, [None] * n, np.arange(n), pandas.date_range("2000", periods=n),
                         [1j] * n, pandas.Categorical(["a", "b"] * n)[:n], np.arange(n) % 2 == 0, pandas.array([None, 1] * n)[:n])

    def maps(self, Y: Any) -> Any:
        B = Y.to_numpy().copy()
        way = self.rng.integers(14)
        if way == 0:
            B[self.rng.random(B.shape) < 0.2] = np.nan
        elif way == 1:
            B = B.astype(self.pick("f4", "f2", ">f8", "i4", "O", "U8", "c16", "M8[s]", "?"))
        elif way == 2:
            B = B[:, :int(self.rng.integers(5))]
        elif way == 3:
            B = B[:int(self.rng.integers(len(B)))]
        elif way == 4:
            B = np.asfortranarray(B)[::-1][::-1]
        elif way == 5:
            return self.odd()
        elif way == 6:
            B[:, 1] = self.pick(0, np.nan, np.inf, 1e300)
        elif way == 7:
            return Y.iloc[:, ::-1]
        elif way == 8:
            return Y.rename(columns={"region 1": self.pick("region 2", "", "a\0", 5)})
        elif way == 9:
            return np.ma.masked_greater(B, 1.0)
        return B if self.rng.random() < 0.5 else Y

    def params(self) -> dict[str, Any]:
        out: dict[str, Any] = {"components": self.pick(1, 2, "auto"), "calibrate": "none", "max_evals": 5}
        if self.rng.random() < 0.3:
            names = [name for name in NormativeModel().get_params() if name not in ("scratch", "progress", "threads")]
            out[self.pick(*names)] = self.odd()
        if self.rng.random() < 0.2:
            out.update(method=self.pick("stgpr", "kronprod", "mtgpr", "kronsum", "convolved"))
        if self.rng.random() < 0.2:
            out.update(missing=self.pick("drop", "mean"))
        if self.rng.random() < 0.1:
            out.update(progress=lambda *at: 1 / 0)
        return out

    def step(self) -> None:
        """One call. What a kept model says of the usual people does not change by it."""
        calls: list[Callable[[], Any]] = [self.fit, self.fit, self.say, self.say, self.say, self.say, self.keep, self.refit]
        call = self.pick(*calls)
        try:
            call()
        except EXPECTED as error:
            assert str(error), repr(error)
            name = type(error).__name__
            self.told[name] = self.told.get(name, 0) + 1

    def fit(self) -> None:
        model = NormativeModel(**self.params())
        try:
            model.fit(self.people(self.X), self.maps(self.Y))
        finally:
            if not model.__sklearn_is_fitted__():
                assert not [name for name in vars(model) if name.endswith("_")], vars(model)
        self.models = (self.models + [(model, model.to_bytes())])[-6:]

    def one(self) -> NormativeModel:
        return self.pick(*[model for model, _ in self.models]) if self.models else NormativeModel()

    def say(self) -> None:
        m, X, Y = self.one(), self.people(self.new), self.maps(self.R)
        odd: dict[str, Any] = {}
        if self.rng.random() < 0.3:
            odd[self.pick("cases", "label", "reference", "threshold", "maps", "unseen", "training_rows", "nothing")] = self.odd()
        self.pick(lambda: m.predict(X, return_std=bool(self.rng.integers(2))), lambda: m.zscore(X, Y, **odd),
                  lambda: m.score_participants(X, Y, **odd), lambda: m.score_responses(X, Y, **odd), lambda: m.score(X, Y),
                  lambda: m.adapt(X, Y), lambda: m.centiles(self.pick("age", "site", self.odd()), grid=3), lambda: m.info_,
                  lambda: m.cv_zscores_.sum(), lambda: m.components_.sum(), lambda: m.export(self.folder / "e", force=True),
                  lambda: m.to_images(self.odd()), lambda: m.change(X, Y, visit=self.pick("site", self.odd())))()

    def keep(self) -> None:
        """To bytes or a file and back, sometimes spoiled."""
        m, path = self.one(), self.folder / "model"
        content = bytearray(m.to_bytes())
        if self.rng.random() < 0.5:
            content[self.rng.integers(len(content))] ^= 255
        back = NormativeModel.from_bytes(bytes(content))
        back.save(path, force=True)
        assert kronorm.load(path).to_bytes() == back.to_bytes()
        assert pickle.loads(pickle.dumps(back)).to_bytes() == back.to_bytes()

    def refit(self) -> None:
        """A model that is refused stays as it was."""
        if not self.models:
            return
        i = int(self.rng.integers(len(self.models)))
        model, before = self.models[i]
        try:
            model.fit(self.people(self.X), self.maps(self.Y))
        except EXPECTED:
            assert model.to_bytes() == before
            raise
        self.models[i] = (model, model.to_bytes())


class AnyCalls(unittest.TestCase):
    def test_any_calls(self) -> None:
        usual = NormativeModel(components=2).fit(*cohort(40, 4)).to_bytes()
        with tempfile.TemporaryDirectory() as folder:
            player = Player(int(os.environ.get("KRONORM_TEST_SEED", "11")), pathlib.Path(folder))
            for i in range(CALLS):
                with self.subTest(call=i):
                    player.step()
                if i % 25 == 0:
                    for model, content in player.models:
                        self.assertEqual(model.to_bytes(), content)
        self.assertGreater(sum(player.told.values()), CALLS // 5, player.told)
        self.assertLess(sum(player.told.values()), CALLS, player.told)
        self.assertTrue(player.models)
        self.assertEqual(NormativeModel(components=2).fit(*cohort(40, 4)).to_bytes(), usual)


if __name__ == "__main__":
    unittest.main()
