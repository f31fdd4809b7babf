"""The numbers of a model, what it remembers, and how it is kept, shared and closed."""
from __future__ import annotations

import copy
import gc
import pathlib
import pickle
import tempfile
import threading
import unittest
import warnings
from typing import Any

import numpy as np

import kronorm
from cohort import cohort, maps, people, python
from kronorm import NormativeModel


def setUpModule() -> None:
    warnings.simplefilter("ignore")


class Numbers(unittest.TestCase):
    model: NormativeModel

    @classmethod
    def setUpClass(cls) -> None:
        cls.X, cls.Y = cohort(90)
        cls.new, cls.responses = cohort(30, seed=2, first=500)
        cls.model = NormativeModel(calibrate="none", components=4).fit(cls.X, cls.Y)

    def test_z_by_hand(self) -> None:
        mean, std = self.model.predict(self.new, return_std=True)
        np.testing.assert_allclose(self.model.zscore(self.new, self.responses), (self.responses - mean) / std, atol=2e-5)

    def test_z_is_the_callers_own(self) -> None:
        """Whoever asked for z may write to it; what others read as well is read-only."""
        z = self.model.zscore(self.new, self.responses)
        expected = z.copy()
        z[np.abs(z) < 1.96] = 0
        scores = self.model.scores(self.new, self.responses)
        np.testing.assert_array_equal(scores.z, expected)
        for shared in (scores.z, self.model.cv_zscores_):
            with self.assertRaisesRegex(ValueError, "read-only"):
                shared[0] = 0

    def test_noise_is_that_of_std(self) -> None:
        scores = self.model.scores(self.new, self.responses, maps="ys2_model")
        _, std = self.model.predict(self.new, return_std=True)
        np.testing.assert_allclose(std ** 2, scores.ys2_model + self.model.noise_, rtol=1e-5)
        with self.assertRaisesRegex(AttributeError, "there is no map z"):
            scores.z
        with self.assertRaisesRegex(ValueError, "maps is 'zz', but must be some of z, yhat, ys2_model, fdr, ys2"):
            self.model.scores(self.new, self.responses, maps="zz")

    def test_std_where_noise_varies(self) -> None:
        """It is what z divides by: that of the curves at the same covariates, and of z before the Student step."""
        try:
            from scipy import stats
        except ImportError:
            self.skipTest("scipy is not there")
        X, Y = cohort(150, 4)
        loud = np.exp((X["age"].to_numpy()[:, np.newaxis] - 50) / 30)
        Y = Y + 2 * loud * np.random.default_rng(4).normal(size=Y.shape)
        model = NormativeModel(components=2).fit(X, Y)
        self.assertTrue(model.info_["calibration"]["parts"]["line"]["kept"])
        curves = model.centiles("age", at={"site": "Ulm"}, grid=6, table="params")
        mean, std = model.predict(curves[curves["response"] == "region 1"][["age", "sex", "site"]], return_std=True)
        for j in range(4):
            told = curves[curves["response"] == f"region {j + 1}"]
            np.testing.assert_allclose(mean[:, j], told["mean"], rtol=1e-5)
            np.testing.assert_allclose(std[:, j], told["sd"], rtol=1e-5)
        self.assertGreater(std.max(), 1.5 * std.min())
        self.assertFalse(model.info_["calibration"]["parts"]["shape"]["kept"])
        new, values = cohort(30, 4, seed=2, first=500)
        mean, std = model.predict(new, return_std=True)
        t = stats.t(model.info_["calibration"]["nu"]).cdf((values - mean) / std)
        np.testing.assert_allclose(model.zscore(new, values), stats.norm.ppf(t), atol=1e-4)

    def test_statistic_by_hand(self) -> None:
        """Of 12 responses the statistic is the largest |z|."""
        scores = self.model.scores(self.new, self.responses, cases=np.arange(30) < 9)
        np.testing.assert_allclose(scores.participants["extreme_z"], abs(scores.z).max(axis=1), rtol=1e-6)
        np.testing.assert_allclose(scores.participants["mean_z"], scores.z.mean(axis=1), atol=1e-6)
        self.assertEqual(list(scores.participants["label"]), [1.0] * 9 + [0.0] * 21)
        error = self.responses[9:] - self.model.predict(self.new)[9:]
        r2 = 1 - (error ** 2).sum() / ((self.responses[9:] - self.responses[9:].mean()) ** 2).sum()
        np.testing.assert_allclose(scores.responses["R2"], r2, rtol=1e-4)
        self.assertEqual(list(scores.responses["response"]), list(self.Y.columns))
        self.assertEqual(scores.summary["counts"]["cases"], 9)

    def test_attributes(self) -> None:
        m = self.model
        self.assertEqual((m.n_components_, m.n_outputs_, m.components_.shape), (4, 12, (4, 12)))
        np.testing.assert_allclose(m.components_ @ m.components_.T, np.eye(4), atol=1e-10)
        self.assertEqual(m.ids_, list(self.X["participant_id"]))
        self.assertEqual(m.info_["lml"], m.lml_)
        self.assertEqual(m.info_["options"], {"components": "4", "calibrate": "none"})
        self.assertEqual(m.cv_zscores_.shape, (90, 12))
        self.assertLess(abs((m.cv_zscores_ ** 2).mean() - 1), 0.2)
        self.assertIsInstance(m.warnings_, list)
        with self.assertRaises(ValueError):
            m.cv_zscores_[0, 0] = 1  # it is the model's own

    def test_left_out_responses_are_nan(self) -> None:
        Y = self.Y.assign(**{"region 3": 2.0})
        model = NormativeModel(components=3).fit(self.X, Y)
        for values in (model.predict(self.new), model.cv_zscores_, model.components_, model.noise_[np.newaxis]):
            np.testing.assert_array_equal(np.isnan(values).all(axis=0), np.arange(12) == 2)
            self.assertEqual(np.isnan(values).sum(), len(values))
        self.assertTrue(np.isfinite(model.score(self.new, self.responses)))

    def test_labels_by_array_or_by_column(self) -> None:
        X = self.new.assign(group=np.where(np.arange(30) < 9, "patient", "control"))
        a = self.model.scores(X, self.responses, cases="group=patient", reference="group=control")
        b = self.model.scores(self.new, self.responses, cases=X["group"] == "patient", reference=X["group"] == "control")
        self.assertTrue(a.participants.equals(b.participants))
        with self.assertRaisesRegex(ValueError, "expected COLUMN=VALUE or 30 booleans"):
            self.model.scores(X, self.responses, cases=[True])

    def test_methods(self) -> None:
        basis = np.linalg.svd(self.Y - self.Y.mean(), full_matrices=False)[2][:3].T
        for params in ({"method": "stgpr"}, {"method": "mtgpr", "components": 2}, {"noise": "whitened", "components": 2},
                       {"method": "kronsum"}, {"basis": basis}):
            with self.subTest(**params):
                model = NormativeModel(**params).fit(self.X, self.Y)
                self.assertGreater(model.score(self.new, self.responses), 0.05)
        self.assertEqual(model.n_components_, 3)
        with self.assertRaises(AttributeError):
            NormativeModel(method="stgpr").fit(self.X, self.Y).components_

    def test_a_site_that_training_did_not_have(self) -> None:
        X = people(25, 3, ("Rome",), 700)
        Y = maps(X, seed=3)
        with self.assertRaisesRegex(ValueError, r'Rome.*unseen="prior"'):
            self.model.zscore(X, Y)
        self.assertEqual(set(self.model.score_participants(X, Y, unseen="prior")["site_adapted"]), {0.0})
        adapted = self.model.adapt(X[:15], Y[:15])
        self.assertEqual(set(adapted.score_participants(X[15:], Y[15:])["site_adapted"]), {1.0})
        self.assertIsNot(adapted, self.model)
        self.assertEqual(adapted.get_params(), self.model.get_params())
        np.testing.assert_array_equal(adapted.predict(self.new), self.model.predict(self.new))


class Rows(unittest.TestCase):
    """Rows of results are those of X."""

    def setUp(self) -> None:
        self.X, self.Y = cohort(60, 5)

    def test_order(self) -> None:
        model = NormativeModel().fit(self.X, self.Y)
        new, Y = cohort(20, 5, seed=2, first=500)
        order = np.random.default_rng(1).permutation(20)
        np.testing.assert_array_equal(model.zscore(new, Y)[order], model.zscore(new.iloc[order], Y.iloc[order]))
        table = model.score_participants(new.iloc[order], Y.iloc[order])
        self.assertEqual(list(table["participant_id"]), list(new["participant_id"].iloc[order]))
        self.assertEqual(list(table.index), list(new.index[order]))

    def test_dropped_people_have_nan(self) -> None:
        for ids in ("names", "none", "repeated"):
            X = {"names": self.X, "none": self.X.drop(columns="participant_id"),
                 "repeated": self.X.assign(participant_id=[f"sub-{i // 2}" for i in range(60)])}[ids].copy()
            X.loc[[4, 11], "age"], X.loc[20, "sex"] = np.nan, None
            gone = np.isin(np.arange(60), [4, 11, 20])
            model = NormativeModel(missing="drop").fit(X, self.Y)
            with self.subTest(ids):
                for values in (model.predict(X), model.zscore(X, self.Y, training_rows="plain"), model.cv_zscores_):
                    np.testing.assert_array_equal(np.isnan(values).any(axis=1), gone)
                full = NormativeModel().fit(X[~gone], self.Y[~gone])
                np.testing.assert_array_equal(full.cv_zscores_, model.cv_zscores_[~gone])
                self.assertEqual(full.to_bytes()[-1000:], model.to_bytes()[-1000:])
                self.assertEqual(len(model.score_participants(X, self.Y)), 60)
                self.assertTrue(np.isfinite(model.score(X, self.Y)))
                if ids != "repeated":
                    np.testing.assert_array_equal(np.isnan(model.cv(X, self.Y, folds=3).z).any(axis=1), gone)

    def test_people_without_a_response_do_not_learn(self) -> None:
        self.Y.iloc[7] = np.nan
        for X in (self.X, self.X.drop(columns="participant_id")):
            z = NormativeModel().fit(X, self.Y).cv_zscores_
            np.testing.assert_array_equal(np.isnan(z).any(axis=1), np.arange(60) == 7)


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        self.X, self.Y = cohort(60, 5)
        self.model = NormativeModel(components=2, standardise=False, seed=3, max_seconds=100.0).fit(self.X, self.Y)
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def test_files(self) -> None:
        path = self.folder / "model.safetensors"
        self.model.save(path)
        self.assertEqual(path.read_bytes(), self.model.to_bytes())
        with self.assertRaises(OSError):
            self.model.save(path)
        self.model.save(str(path), force=True)
        loaded = kronorm.load(path)
        self.assertEqual(loaded.get_params(), self.model.get_params())
        self.assertEqual(list(loaded.feature_names_in_), ["age", "sex", "site"])
        np.testing.assert_array_equal(loaded.predict(self.X), self.model.predict(self.X))
        np.testing.assert_array_equal(loaded.predict(self.X[["site", "age", "sex"]]), self.model.predict(self.X))
        np.testing.assert_array_equal(loaded.cv_zscores_, self.model.cv_zscores_)
        self.assertEqual(NormativeModel.from_bytes(path.read_bytes()).to_bytes(), self.model.to_bytes())

    def test_loaded_model_of_an_array(self) -> None:
        X = np.column_stack([self.X["age"], self.X["sex"] == "F"])
        model = NormativeModel().fit(X, self.Y.to_numpy())
        loaded = NormativeModel.from_bytes(model.to_bytes())
        self.assertEqual(loaded.n_features_in_, 2)
        self.assertFalse(hasattr(loaded, "feature_names_in_"))
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))

    def test_bad_files(self) -> None:
        for content in (b"", b"not a model", self.model.to_bytes()[:-50], b"\xff" * 1000):
            (self.folder / "bad").write_bytes(content)
            with self.subTest(len(content)), self.assertRaises(ValueError):
                kronorm.load(self.folder / "bad")
            with self.subTest(len(content)), self.assertRaises(ValueError):
                NormativeModel.from_bytes(content)
        with self.assertRaisesRegex(OSError, "nowhere"):
            kronorm.load(self.folder / "nowhere")

    def test_copies(self) -> None:
        for made in (copy.copy(self.model), copy.deepcopy(self.model), pickle.loads(pickle.dumps(self.model))):
            np.testing.assert_array_equal(made.zscore(self.X, self.Y), self.model.zscore(self.X, self.Y))
            made.close()
        self.assertEqual(len(self.model.ids_ or ()), 60)

    def test_closed(self) -> None:
        z, told = self.model.cv_zscores_, self.model.scores(self.X, self.Y)
        expected = z.copy()
        self.model.close()
        for call in (lambda: self.model.predict(self.X), lambda: self.model.lml_, lambda: self.model.to_bytes(),
                     lambda: self.model.close(), lambda: self.model.scores(self.X, self.Y)):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        np.testing.assert_array_equal(z, expected)  # whoever still reads keeps the memory
        np.testing.assert_array_equal(told.z, expected)
        with self.assertRaisesRegex(ValueError, "closed"):
            pickle.loads(pickle.dumps(self.model)).predict(self.X)
        self.model.fit(self.X, self.Y).predict(self.X)

    def test_unfitted(self) -> None:
        from kronorm._sklearn import NotFittedError
        model = NormativeModel()
        for call in (lambda: model.predict(self.X), lambda: model.zscore(self.X, self.Y), lambda: model.adapt(self.X, self.Y),
                     lambda: model.centiles("age"), lambda: model.save(self.folder / "m"), lambda: model.lml_,
                     lambda: model.change(self.X, self.Y, visit="age"), lambda: model.report(self.folder / "r.html"),
                     lambda: model.export(self.folder / "e"), lambda: model.score(self.X, self.Y), lambda: model.cv_zscores_):
            with self.assertRaises(NotFittedError):
                call()

    def test_a_failed_fit_leaves_the_model(self) -> None:
        before = self.model.to_bytes()
        with self.assertRaises(ValueError):
            self.model.fit(self.X[:2], self.Y[:2])
        self.assertEqual(self.model.to_bytes(), before)

    def test_threads_share_a_model(self) -> None:
        expected, found = self.model.zscore(self.X, self.Y), []

        def work() -> None:
            for _ in range(5):
                found.append(np.array_equal(self.model.zscore(self.X, self.Y), expected))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 20)

    def test_folders(self) -> None:
        curves = self.model.centiles("age", grid=5, centiles=(50,), targets="region 2")
        self.assertEqual((list(curves.columns[:2]), len(curves)), (["response", "age"], 10))
        with self.assertRaisesRegex(ValueError, "table is 'pints'"):
            self.model.centiles("age", table="pints")
        with self.assertRaisesRegex(ValueError, "no covariate 'height'"):
            self.model.centiles("height")
        held = self.model.cv(self.X, self.Y, leave_out="site", controls=8)
        self.assertEqual((held.z.shape, len(held.sites)), ((60, 5), 6))
        self.assertEqual(np.isfinite(held.adapted.z).all(axis=1).sum(), held.adapted.participants["extreme_z"].notna().sum())


class ScoresElsewhere(unittest.TestCase):
    """Results outlive the library's: another process, a copy, the model gone."""

    def test_pickled_copied_and_alone(self) -> None:
        X, Y = cohort(40, 4)
        model = NormativeModel(components=2).fit(X, Y)
        scores = model.scores(X, Y, maps=("z", "yhat"), training_rows="plain")
        z, people = np.array(scores.z), scores.participants
        copies = [pickle.loads(pickle.dumps(scores)), copy.copy(scores), copy.deepcopy(scores)]
        copies.append(pickle.loads(pickle.dumps(copies[0])))
        responses, summary, view = scores.responses, scores.summary, scores.z
        del scores, model
        gc.collect()
        np.testing.assert_array_equal(view, z)
        for one in copies:
            np.testing.assert_array_equal(one.z, z)
            self.assertTrue(one.participants.equals(people) and one.responses.equals(responses) and one.summary == summary)
            self.assertIn("40 participants at 4 responses", repr(one))
            with self.assertRaisesRegex(AttributeError, "there is no map fdr"):
                one.fdr

    def test_handles_stay_in_their_process(self) -> None:
        model = NormativeModel(components=2).fit(*cohort(40, 4))
        for act in (pickle.dumps, copy.copy, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                act(model._native.handle)


class Alone(unittest.TestCase):
    """Numpy is enough."""

    def test_without_pandas_and_scikit_learn(self) -> None:
        code = """
import sys
sys.modules["pandas"] = sys.modules["sklearn"] = sys.modules["sklearn.base"] = None
import numpy as np, kronorm
from kronorm._sklearn import NotFittedError
rng = np.random.default_rng(1)
X = {"age": rng.uniform(20, 80, 60), "sex": rng.choice(["F", "M"], 60), "participant_id": [f"s{i}" for i in range(60)]}
Y = rng.normal(size=(60, 5)) + X["age"][:, None] / 20
model = kronorm.NormativeModel(components=2)
assert repr(model) == "NormativeModel(components=2)", model
assert model.get_params()["components"] == 2 and model.set_params(seed=1) is model
try:
    model.predict(X)
except NotFittedError as error:
    assert isinstance(error, ValueError) and isinstance(error, AttributeError)
model.fit(X, Y)
assert list(model.feature_names_in_) == ["age", "sex", "participant_id"]
table = model.score_participants(X, Y)
assert list(table)[:3] == ["participant_id", "in_training", "extreme_z"] and table.shape == (60, 27)
assert model.score_responses(X, Y)["R2"].dtype == float
assert model.centiles("age")["value"].dtype == float and model.centiles("age")["response"][0] == "1"
assert 0 < model.score(X, Y) < 1
plain = np.array(list(zip(X["age"], X["sex"])), dtype=[("age", float), ("sex", "U1")])
new = kronorm.NormativeModel(components=2).fit(plain, Y)
columns = {name: X[name] for name in ("age", "sex")}  # without ids too, since folds follow them
assert np.array_equal(new.predict(plain), kronorm.NormativeModel(components=2).fit(columns, Y).predict(columns))
assert len(kronorm.options("fit")["option"]) > 40 and "extreme_z" in repr(table)
import pickle
assert pickle.loads(pickle.dumps(model)).to_bytes() == model.to_bytes()
print("done")
"""
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(python(code, pathlib.Path(folder)), "done\n")


if __name__ == "__main__":
    unittest.main()
