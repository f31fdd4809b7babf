"""scikit-learn's own tests of an estimator, and its tools at work on one."""
from __future__ import annotations

import io
import pickle
import unittest
import warnings
from typing import Any, Callable

import numpy as np

try:
    import sklearn
    from sklearn.base import clone
    from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
    from sklearn.exceptions import NotFittedError
    from sklearn.metrics import r2_score
    from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils.estimator_checks import check_estimator
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise unittest.SkipTest("scikit-learn is not there") from None

from cohort import cohort
from kronorm import NormativeModel


def setUpModule() -> None:
    warnings.simplefilter("ignore")


class Checks(unittest.TestCase):
    """A test for each check of check_estimator."""

    ran = 0

    def test_there_are_many(self) -> None:
        self.assertGreaterEqual(len([name for name in dir(self) if name.startswith("test_check")]), 41)


def _named(check: Any) -> str:
    more = "".join(f"_{key}_{value}" for key, value in check.keywords.items())
    return check.func.__name__ + more


def _method(estimator: Any, check: Any) -> Callable[[Any], None]:
    def run(self: Any) -> None:
        check(clone(estimator))
    return run


def _checks() -> Any:
    if hasattr(sklearn.utils.estimator_checks, "estimator_checks_generator"):  # from 1.6 on
        return sklearn.utils.estimator_checks.estimator_checks_generator(NormativeModel())
    return check_estimator(NormativeModel(), generate_only=True)


for _estimator, _check in _checks():
    setattr(Checks, f"test_{_named(_check)}", _method(_estimator, _check))


class Tools(unittest.TestCase):
    """Covariates are numbers here: an array, as scikit-learn has it."""

    def setUp(self) -> None:
        X, self.Y = cohort(60, 6)
        self.X = np.column_stack([X["age"], X["sex"] == "F"])
        self.frame = X.drop(columns="participant_id")

    def test_params(self) -> None:
        model = NormativeModel(components=3, batch="site")
        self.assertEqual(model.get_params()["components"], 3)
        self.assertIs(model.set_params(components=4, seed=2), model)
        self.assertEqual((model.components, model.seed), (4, 2))
        with self.assertRaises(ValueError):
            model.set_params(colour=1)
        self.assertEqual(repr(NormativeModel(components=3)), "NormativeModel(components=3)")

    def test_clone_has_params_and_no_fit(self) -> None:
        model = NormativeModel(components=2, categorical=[1], seed=5).fit(self.X, self.Y)
        copy = clone(model)
        self.assertEqual(copy.get_params(), model.get_params())
        with self.assertRaises(NotFittedError):
            copy.predict(self.X)
        with self.assertRaises(NotFittedError):
            check_is_fitted(copy)
        check_is_fitted(model)

    def test_attributes(self) -> None:
        model = NormativeModel().fit(self.frame, self.Y)
        self.assertEqual(model.n_features_in_, 3)
        self.assertEqual(list(model.feature_names_in_), ["age", "sex", "site"])
        self.assertEqual((model.n_outputs_, model.response_names_), (6, list(self.Y.columns)))
        self.assertEqual(model.components_.shape, (model.n_components_, 6))
        model.fit(self.X, self.Y.to_numpy())
        self.assertFalse(hasattr(model, "feature_names_in_"))
        self.assertIsNone(model.response_names_)

    def test_score_is_r2(self) -> None:
        model = NormativeModel().fit(self.X, self.Y)
        weights = np.random.default_rng(3).uniform(size=len(self.X))
        for w in (None, weights):
            expected = r2_score(self.Y, model.predict(self.X), sample_weight=w)
            self.assertAlmostEqual(model.score(self.X, self.Y, sample_weight=w), expected, places=12)
        self.assertAlmostEqual(model.score(self.X, self.Y.iloc[:, ::-1]), model.score(self.X, self.Y), places=12)

    def test_pipelines(self) -> None:
        fixed = {"components": 2, "folds": 0}  # folds of rows without ids follow the values of the covariates, which are scaled here
        plain = NormativeModel(**fixed).fit(self.X, self.Y)
        piped = make_pipeline(StandardScaler(), NormativeModel(**fixed)).fit(self.X, self.Y)
        np.testing.assert_allclose(piped.predict(self.X), plain.predict(self.X), atol=1e-4)
        self.assertGreater(piped.score(self.X, self.Y), 0.1)
        columns = ColumnTransformer([("age", StandardScaler(), ["age"])], remainder="passthrough")
        mixed = make_pipeline(columns, NormativeModel(**fixed)).fit(self.frame, self.Y)  # an array of objects
        self.assertEqual([c["kind"] for c in mixed[-1].info_["recipe"]["columns"]], ["numeric", "categorical", "categorical"])
        columns.set_output(transform="pandas")
        named = make_pipeline(columns, NormativeModel(**fixed)).fit(self.frame, self.Y)
        np.testing.assert_allclose(named.predict(self.frame), mixed.predict(self.frame), atol=1e-4)

    def test_grid_search(self) -> None:
        search = GridSearchCV(NormativeModel(folds=0), {"components": [1, 4]}, cv=3).fit(self.X, self.Y)
        self.assertIn(search.best_params_["components"], (1, 4))
        self.assertTrue(np.isfinite(search.cv_results_["mean_test_score"]).all())
        self.assertEqual(search.best_estimator_.n_components_, search.best_params_["components"])

    def test_cross_validate_in_two_processes(self) -> None:
        one = cross_validate(NormativeModel(folds=0), self.frame, self.Y, cv=3, return_estimator=True)
        two = cross_validate(NormativeModel(folds=0), self.frame, self.Y, cv=3, n_jobs=2)
        np.testing.assert_array_equal(one["test_score"], two["test_score"])
        self.assertTrue((one["test_score"] > 0).all())
        self.assertEqual(len({model.to_bytes() for model in one["estimator"]}), 3)
        self.assertEqual(cross_val_predict(NormativeModel(folds=0), self.X, self.Y, cv=3).shape, self.Y.shape)

    def test_transformed_target(self) -> None:
        twice = TransformedTargetRegressor(NormativeModel(), func=lambda y: 2 * y, inverse_func=lambda y: y / 2)
        twice.fit(self.X, self.Y.to_numpy())
        np.testing.assert_allclose(twice.predict(self.X), NormativeModel().fit(self.X, self.Y).predict(self.X), atol=1e-4)

    def test_one_response_as_a_vector(self) -> None:
        y = self.Y.iloc[:, 0]
        model = NormativeModel().fit(self.X, y)
        mean, std = model.predict(self.X, return_std=True)
        self.assertEqual({mean.shape, std.shape, model.zscore(self.X, y).shape, model.cv_zscores_.shape}, {(60,)})
        self.assertEqual(NormativeModel().fit(self.X, y.to_frame()).predict(self.X).shape, (60, 1))

    def test_joblib_and_pickle(self) -> None:
        import joblib
        model = NormativeModel(components=2).fit(self.frame, self.Y)
        file = io.BytesIO()
        joblib.dump(model, file)
        file.seek(0)
        for copy in (joblib.load(file), pickle.loads(pickle.dumps(model))):
            self.assertEqual(copy.get_params(), model.get_params())
            self.assertEqual(copy.to_bytes(), model.to_bytes())
            self.assertEqual(list(copy.feature_names_in_), list(model.feature_names_in_))
            np.testing.assert_array_equal(copy.predict(self.frame), model.predict(self.frame))
            np.testing.assert_array_equal(copy.cv_zscores_, model.cv_zscores_)
        self.assertEqual(pickle.loads(pickle.dumps(NormativeModel(seed=9))).seed, 9)

    def test_html(self) -> None:
        self.assertIn("NormativeModel", NormativeModel()._repr_html_())


if __name__ == "__main__":
    unittest.main()
