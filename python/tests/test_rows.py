"""Each row of every result is that person's: whatever tells people apart, and whoever is left out."""
from __future__ import annotations

import tempfile
import unittest
import warnings
from typing import Any

import numpy as np

from cohort import cohort, pandas
from kronorm import NormativeModel, fit_images

try:
    import nibabel
except ImportError:
    nibabel = None

PARAMETERS = {"components": 2, "missing": "drop", "use": "age,sex,site", "folds": 3}


def setUpModule() -> None:
    warnings.simplefilter("ignore")


def styles(X: Any, Y: Any) -> dict[str, tuple[Any, Any]]:
    """The same people, told apart in all ways that tables know."""
    n = len(X)
    bare, ids = X.drop(columns="participant_id"), [f"p{i}" for i in np.random.default_rng(3).permutation(n)]
    twice = [f"p{i // 2}" for i in range(n)]
    numbers = np.random.default_rng(4).permutation(n) + 100
    pairs = pandas.MultiIndex.from_arrays([twice, ["a", "b"] * (n // 2)])

    def indexed(index: Any) -> tuple[Any, Any]:
        return bare.set_axis(index), Y.set_axis(index)

    return {
        "nobody": (bare, Y), "arrays": (bare, Y.to_numpy()), "texts": indexed(ids), "numbers": indexed(numbers),
        "categories": indexed(pandas.CategoricalIndex(ids)), "pairs": indexed(pairs), "visits": indexed(twice),
        "column": (bare.assign(participant_id=ids), Y.set_axis(numbers)),
        "spaces": (bare.assign(participant_id=[f" {who} " for who in ids]), Y.to_numpy()),
        "column of visits": (bare.assign(SubjID=twice), Y.assign(SubjID=twice)),
        "column and index": (bare.assign(participant_id=ids).set_axis([f"row {i}" for i in range(n)]), Y.assign(sub_id=ids)),
        "numbers as ids": (bare.assign(subject_id=numbers), Y.assign(subject_id=numbers)),
    }


def holes(X: Any, Y: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """With cells that are missing in every manner of speaking; who then lacks a covariate, and who any response."""
    rng = np.random.default_rng(seed)
    X, Y = X.assign(other=rng.normal(size=len(X))), Y.copy()
    who = rng.permutation(len(X))
    X.loc[who[0], "age"] = np.nan
    for row, told in zip(who[1:6], (None, "n/a", "", " NA ", np.nan)):
        X.loc[row, rng.choice(["sex", "site"])] = told
    X.loc[who[5:8], "other"] = np.nan  # which is not used
    Y.iloc[who[8:10]] = np.nan
    Y.iloc[rng.choice(who[10:], 5), 1] = np.nan
    return X, Y, np.isin(np.arange(len(X)), who[:6]), np.isin(np.arange(len(X)), who[8:10])


class Rows(unittest.TestCase):
    def setUp(self) -> None:
        X, Y = cohort(48, 4)
        self.X, self.Y, self.lacking, self.blank = holes(X, Y, seed=5)
        self.stay = ~self.lacking & ~self.blank

    def check(self, found: Any, expected: Any, rows: Any) -> None:
        """These rows have the numbers of those who were left, others have none."""
        self.assertEqual(len(found), 48)
        np.testing.assert_array_equal(np.asarray(found)[rows], expected)
        self.assertTrue(np.isnan(np.asarray(found)[~rows]).all())

    def test_of_training(self) -> None:
        """As if only those who can be used had been there."""
        stripped = {"nobody", "arrays", "numbers", "pairs"}
        for name, (X, Y) in styles(self.X, self.Y).items():
            with self.subTest(name):
                model = NormativeModel(**PARAMETERS).fit(X, Y)
                kept = NormativeModel(**PARAMETERS).fit(X[self.stay], Y[self.stay])
                self.assertEqual(model.ids_ is None, name in stripped)
                self.check(model.cv_zscores_, kept.cv_zscores_, self.stay)
                bare = NormativeModel(**PARAMETERS, strip_ids=True).fit(X, Y)
                self.check(bare.cv_zscores_, kept.cv_zscores_, self.stay)

    def test_of_people(self) -> None:
        """As everybody alone."""
        for name, (X, Y) in styles(self.X, self.Y).items():
            with self.subTest(name):
                model = NormativeModel(**PARAMETERS).fit(X, Y)
                scores = model.scores(X, Y, maps=("z", "yhat"), training_rows="plain")
                mean = model.predict(X)
                self.assertEqual(list(scores.participants.index), list(X.index))
                for i in range(0, 48, 3):
                    if self.lacking[i]:
                        self.assertTrue(np.isnan(scores.z[i]).all() and np.isnan(mean[i]).all())
                        self.assertTrue(np.isnan(scores.participants["extreme_z"].iloc[i]))
                        continue
                    alone = model.scores(X.iloc[[i]], Y[i:i + 1], maps=("z", "yhat"), training_rows="plain")
                    np.testing.assert_allclose(scores.z[i], alone.z[0], atol=1e-5)
                    np.testing.assert_allclose(mean[i], alone.yhat[0], atol=1e-5)
                    for column in ("extreme_z", "mean_z", "n_responses"):
                        np.testing.assert_allclose(scores.participants[column].iloc[i], alone.participants[column].iloc[0], rtol=1e-4)
                    if model.ids_ is not None:
                        self.assertEqual(scores.participants["participant_id"].iloc[i], alone.participants["participant_id"].iloc[0])

    def test_of_people_held_out(self) -> None:
        for name, (X, Y) in styles(self.X, self.Y).items():
            with self.subTest(name):
                held = NormativeModel(**PARAMETERS).cv(X, Y, folds=3)
                kept = NormativeModel(**PARAMETERS).cv(X[self.stay], Y[self.stay], folds=3)
                self.check(held.z, kept.z, self.stay)
                self.check(held.participants["extreme_z"], kept.participants["extreme_z"], self.stay)
                self.check(held.folds["fold"], kept.folds["fold"], self.stay)
                for table in (held.participants, held.folds):
                    self.assertEqual(list(table.index), list(X.index))
                    if not kept.participants["participant_id"].iloc[0].startswith("row-"):
                        self.assertEqual(list(table["participant_id"][self.stay]), list(kept.participants["participant_id"]))

    def test_of_people_at_sites_held_out(self) -> None:
        for name in ("nobody", "texts", "visits"):
            X, Y = styles(self.X, self.Y)[name]
            with self.subTest(name):
                held = NormativeModel(**PARAMETERS).cv(X, Y, leave_out="site", controls=4)
                kept = NormativeModel(**PARAMETERS).cv(X[self.stay], Y[self.stay], leave_out="site", controls=4)
                self.check(held.z, kept.z, self.stay)
                np.testing.assert_array_equal(held.adapted.z[self.stay], kept.adapted.z)

    def test_who_is_labelled(self) -> None:
        ill = np.arange(48) % 5 == 0
        for name, (X, Y) in styles(self.X, self.Y).items():
            with self.subTest(name):
                model = NormativeModel(**PARAMETERS).fit(X, Y)
                series = pandas.Series(ill, index=X.index)
                for label in (ill, series, series.astype("boolean"), ill.astype(object), ill.astype(int), list(ill), "ill=yes"):
                    people = model.scores(X.assign(ill=np.where(ill, "yes", "no")), Y, cases=label).participants
                    self.check(people["label"], ill[~self.lacking], ~self.lacking)

    def test_labels_that_do_not_say_who(self) -> None:
        X, Y = cohort(48, 4)
        model = NormativeModel(**PARAMETERS).fit(X, Y)
        ill = pandas.Series(np.arange(48) % 5 == 0)
        for label, sentence in ((ill.sample(frac=1, random_state=1), "cases has the rows of X in another order"),
                                (ill + 1, "expected COLUMN=VALUE or 48 booleans"),
                                (ill.astype("boolean").mask(ill.index == 3), "expected .* or 48 booleans"),
                                (ill[:-1], "expected .* or 48 booleans")):
            with self.assertRaisesRegex(ValueError, sentence):
                model.scores(X, Y, cases=label)


class OtherRows(unittest.TestCase):
    """What is not in the order of X is refused, by every method."""

    def test_indexes_in_another_order(self) -> None:
        X, Y = cohort(48, 4)
        X = X.drop(columns="participant_id")
        model = NormativeModel(components=2).fit(X, Y)
        pairs = pandas.MultiIndex.from_arrays([np.arange(48) // 2, ["a", "b"] * 24])
        for index in (X.index, np.arange(48) * 3, pairs, pandas.date_range("2020-01-01", periods=48)):
            x, y = X.set_axis(index), Y.set_axis(index)
            for call in (NormativeModel().fit, model.zscore, model.score, model.adapt, NormativeModel().cv):
                with self.assertRaisesRegex(ValueError, r"in different order: use Y.loc\[X.index\]"):
                    call(x.sample(frac=1, random_state=2), y)
            other = x.sample(frac=1, random_state=2)
            own = y.loc[other.index]
            np.testing.assert_array_equal(model.zscore(other, own), model.zscore(other, own.to_numpy()))
        model.zscore(X.set_axis(np.arange(48) + 5), Y)  # another index altogether says nothing

    def test_score_is_of_the_same_people_and_responses(self) -> None:
        X, Y = cohort(60, 5)
        Y = Y.set_axis(list(X["participant_id"]))
        model = NormativeModel(components=2).fit(X, Y)
        with self.assertRaisesRegex(ValueError, "row 0 is 'sub-001' in X and 'sub-060' in Y"):
            model.score(X, Y[::-1])
        with self.assertRaisesRegex(ValueError, "responses have 1 columns, but the model has 5"):
            model.score(X, Y.to_numpy()[:, 0])
        for wrong in (np.zeros(100), np.zeros((100, 3)), np.zeros((30, 5))):
            with self.assertRaisesRegex(ValueError, "inconsistent numbers of samples"):
                model.score(X, wrong)

    def test_names_of_responses_may_be_numbers(self) -> None:
        X, Y = cohort(60, 3)
        for names in ([1002, 1003, 1001], [2, 1, 0], [0.5, 1.5, 2.5], ["10", "9", "8"], [("lh", "a"), ("lh", "b"), ("rh", "a")]):
            named = Y.set_axis(pandas.Index(names), axis=1)
            model = NormativeModel(components=2).fit(X, named)
            self.assertEqual(model.response_names_, list(map(str, names)))
            z = model.zscore(X, Y.to_numpy(), training_rows="plain")
            np.testing.assert_array_equal(model.zscore(X, named.iloc[:, ::-1], training_rows="plain"), z)
            self.assertEqual(model.score(X, named.iloc[:, ::-1]), model.score(X, named))
        plain = pandas.DataFrame(Y.to_numpy())
        model = NormativeModel(components=2).fit(X, plain)
        self.assertIsNone(model.response_names_)
        for call in (model.zscore, model.score):
            with self.assertRaisesRegex(ValueError, "columns are 2, 1, 0, ..., expected the training order"):
                call(X, plain[[2, 1, 0]])


class Masker:
    def transform(self, images: Any) -> Any:
        images = [nibabel.load(one) if isinstance(one, str) else one for one in images]
        return np.stack([np.asarray(one.dataobj).ravel() for one in images])

    def inverse_transform(self, values: Any) -> Any:
        return values


@unittest.skipIf(nibabel is None, "nibabel is not there")
class Images(unittest.TestCase):
    """Two visits of each person, and images that tell in their names whose they are."""

    def setUp(self) -> None:
        X, self.Y = cohort(40, 4)
        self.X = X.assign(participant_id=[f"sub-{i // 2:02d}" for i in range(40)], session=["ses-a", "ses-b"] * 20)
        self.images = [nibabel.Nifti1Image(y.reshape(4, 1, 1).astype("f4"), np.eye(4)) for y in self.Y.to_numpy()]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.paths = [f"{folder.name}/{who}_{visit}_t.nii" for who, visit in zip(self.X["participant_id"], self.X["session"])]
        for image, path in zip(self.images, self.paths):
            nibabel.save(image, path)
        self.parameters: dict[str, Any] = {"components": 2, "use": "age,sex,site"}

    def fits(self, X: Any, images: Any) -> Any:
        for mask in (None, Masker()):
            yield lambda: fit_images(X, images, mask, **self.parameters)

    def test_in_order(self) -> None:
        expected = NormativeModel(**self.parameters).fit(self.X, self.Y.to_numpy(dtype="f4")).cv_zscores_
        for images in (self.paths, self.images, pandas.Series(self.images), pandas.Series(self.paths, index=np.arange(40) + 7)):
            for fit in self.fits(self.X, images):
                np.testing.assert_array_equal(fit().cv_zscores_, expected)

    def test_paths_of_others(self) -> None:
        others = self.paths[2:] + self.paths[:2]
        visits = [path for i in range(0, 40, 2) for path in (self.paths[i + 1], self.paths[i])]
        for wrong, row in ((others, "sub-00"), (visits, "ses-a")):
            for fit in self.fits(self.X, wrong):
                with self.assertRaisesRegex(ValueError, rf"images\[0\] is .*_t.nii, row 0 of X is {row}: if there are several visits"):
                    fit()

    def test_files_of_a_pattern_go_to_whom_they_name(self) -> None:
        """The order of names is not that of X, and one file is of nobody in X."""
        X = self.X.iloc[:-2:2].sample(frac=1, random_state=3)
        pattern = self.paths[0].replace("sub-00", "sub-*")
        paths = [path for who in X["participant_id"] for path in self.paths if f"{who}_ses-a" in path]
        for mask in (None, Masker()):
            model = fit_images(X, paths, mask, **self.parameters)
            z = model.zscore(X, paths, training_rows="plain")
            np.testing.assert_array_equal(model.zscore(X, pattern, training_rows="plain"), z)
        by_pattern = fit_images(X, pattern, Masker(), **self.parameters)
        self.assertEqual(by_pattern.to_bytes(), model.to_bytes())
        again = NormativeModel.from_bytes(model.to_bytes())
        again.masker_ = by_pattern.masker_  # which the file does not keep
        np.testing.assert_array_equal(again.zscore(X, pattern, training_rows="plain"), z)
        with self.assertRaisesRegex(OSError, r"nobody\*: no file matches"):
            model.zscore(X, "nobody*")
        with self.assertRaisesRegex(ValueError, "list.txt: a masker cannot read a list of images in a file"):
            model.zscore(X, "list.txt")

    def test_one_image_for_two_visits(self) -> None:
        once = dict(zip(self.X["participant_id"][::2], self.images))
        for fit in self.fits(self.X, once):
            with self.assertRaisesRegex(ValueError, "if there are several visits, give the images in the order of X"):
                fit()

    def test_a_series_in_another_order(self) -> None:
        series = pandas.Series(self.images, dtype=object).sample(frac=1, random_state=1)
        for fit in self.fits(self.X, series):
            with self.assertRaisesRegex(ValueError, r"use images.loc\[X.index\]"):
                fit()


if __name__ == "__main__":
    unittest.main()
