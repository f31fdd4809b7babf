"""What X and Y may be, what they become in the library, and how they are refused."""
from __future__ import annotations

import os
import tempfile
import unittest
import warnings
from typing import Any

import numpy as np

from cohort import cohort, pandas
from kronorm import NormativeModel
from kronorm._responses import in_place, responses


def setUpModule() -> None:
    warnings.simplefilter("ignore")


def kinds(model: NormativeModel) -> dict[str, str]:
    return {c["name"]: c["kind"] for c in model.info_["recipe"]["columns"]}


class Covariates(unittest.TestCase):
    def setUp(self) -> None:
        self.X, self.Y = cohort(60, 5)

    def test_kinds_of_columns(self) -> None:
        n = len(self.X)
        X = pandas.DataFrame({
            "age": self.X["age"], "whole": pandas.array(np.arange(n) % 17, dtype="Int64"), "sex": self.X["sex"].astype("string"),
            "site": self.X["site"].astype("category"), "old": self.X["age"] > 50, "code": pandas.Categorical(np.arange(n) % 3),
            "single": self.X["age"].astype("float32") ** 2, "object": self.X["age"].astype(object) ** 3,
        })
        model = NormativeModel().fit(X, self.Y)
        self.assertEqual(kinds(model), {"age": "numeric", "whole": "numeric", "sex": "categorical", "site": "categorical",
                                        "old": "categorical", "code": "categorical", "single": "numeric", "object": "numeric"})
        levels = {c["name"]: c.get("levels") for c in model.info_["recipe"]["columns"]}
        self.assertEqual((levels["old"], levels["code"]), (["False", "True"], ["0", "1", "2"]))

    def test_categories_of_any_kind_are_kept(self) -> None:
        bands = pandas.cut(self.X["age"], [0, 40, 60, 100])
        since = pandas.Categorical(pandas.to_datetime(["2020-01-01", "2021-06-01"] * 30))
        X = self.X[["sex"]].assign(band=bands, since=since)
        model = NormativeModel(components=2).fit(X, self.Y)
        levels = {c["name"]: c["levels"] for c in model.info_["recipe"]["columns"]}
        self.assertEqual(levels["band"], ["(0, 40]", "(40, 60]", "(60, 100]"])
        self.assertEqual(levels["since"], ["2020-01-01 00:00:00", "2021-06-01 00:00:00"])
        texts = X.assign(band=bands.astype(str), since=since.astype(str) + " 00:00:00")
        np.testing.assert_array_equal(model.predict(X), model.predict(texts))
        gap = X.assign(band=bands.where(bands.index != 3))
        self.assertEqual(np.flatnonzero(np.isnan(model.set_params(missing="drop").predict(gap)).any(axis=1)).tolist(), [3])

    def test_lists_of_numbers_and_texts(self) -> None:
        """numpy alone would make texts of the numbers, and ages would be levels."""
        ages = 20 + 10 * (np.arange(60) % 6)
        rows = [[age, sex] for age, sex in zip(ages.tolist(), self.X["sex"])]
        whole = NormativeModel(components=2).fit(np.array(rows, dtype=object), self.Y)
        for X in (rows, list(map(tuple, rows))):
            model = NormativeModel(components=2).fit(X, self.Y)
            self.assertEqual(kinds(model), {"x0": "numeric", "x1": "categorical"})
            self.assertEqual(model.to_bytes(), whole.to_bytes())
            np.testing.assert_array_equal(model.predict(X[:3]), whole.predict(np.array(rows, dtype=object)[:3]))

    def test_arrays_stay_numbers(self) -> None:
        """0 and 1 are a category in a table, and numbers in an array, unless somebody says so."""
        sex = (self.X["sex"] == "F").astype(int)
        codes = np.arange(60) % 4
        array = np.column_stack([self.X["age"], sex, codes])
        self.assertEqual(kinds(NormativeModel().fit(self.X.assign(sex=sex), self.Y))["sex"], "categorical")
        self.assertEqual(set(kinds(NormativeModel().fit(array, self.Y)).values()), {"numeric"})
        for named in ([1, 2], ["x1", "x2"], "x1,x2", np.array([1, 2])):
            model = NormativeModel(categorical=named).fit(array, self.Y)
            self.assertEqual(kinds(model), {"x0": "numeric", "x1": "categorical", "x2": "categorical"})
        model = NormativeModel(batch=[2], use=[0, 2]).fit(array, self.Y)
        self.assertEqual(kinds(model), {"x0": "numeric", "x2": "categorical"})
        self.assertEqual(model.predict(array).shape, (60, 5))
        self.assertEqual(kinds(NormativeModel(categorical=-1).fit(array, self.Y))["x2"], "categorical")

    def test_ids(self) -> None:
        ids = list(self.X["participant_id"])
        bare = self.X.drop(columns="participant_id")
        for X in (self.X, self.X.rename(columns={"participant_id": "SubjID"}), self.X.set_index("participant_id"),
                  bare.set_index(pandas.Index(ids))):
            model = NormativeModel().fit(X, self.Y.to_numpy())
            self.assertEqual((model.ids_, list(kinds(model))), (ids, ["age", "sex", "site"]))
        self.assertIsNone(NormativeModel().fit(bare, self.Y).ids_)
        self.assertIsNone(NormativeModel(strip_ids=True).fit(self.X, self.Y).ids_)
        own = self.X.rename(columns={"participant_id": "who"})
        self.assertEqual(NormativeModel(id="who").fit(own, self.Y).ids_, ids)
        numbers = bare.assign(participant_id=np.arange(60) + 1000)
        self.assertEqual((NormativeModel().fit(numbers, self.Y).ids_ or [])[:2], ["1000", "1001"])
        with self.assertRaisesRegex(ValueError, r"no column 'who' \(named in id\)"):
            NormativeModel(id="who").fit(bare, self.Y)

    def test_ids_of_a_level_of_the_index(self) -> None:
        """Visits of people, as tables of BIDS are often indexed."""
        twice = self.X.assign(participant_id=[f"sub-{i // 2:02d}" for i in range(60)], session=["1", "2"] * 30)
        expected = NormativeModel(components=2).fit(twice, self.Y)
        X = twice.set_index(["participant_id", "session"])
        model = NormativeModel(components=2).fit(X, self.Y.set_axis(X.index))
        self.assertEqual(model.ids_, list(twice["participant_id"]))
        np.testing.assert_array_equal(model.cv_zscores_, expected.cv_zscores_)  # visits share their fold
        with self.assertRaisesRegex(ValueError, "row 0 is 'sub-00' in X and 'sub-29' in Y"):
            model.zscore(X, self.Y.set_axis(X.index)[::-1])
        own = X.rename_axis(["who", "session"])
        self.assertEqual(NormativeModel(components=2, id="who").fit(own, self.Y.to_numpy()).ids_, model.ids_)
        self.assertIsNone(NormativeModel(components=2).fit(own, self.Y.to_numpy()).ids_)

    def test_rows_of_other_people_are_refused(self) -> None:
        X, Y = self.X.set_index("participant_id"), self.Y.set_axis(list(self.X["participant_id"]))
        model = NormativeModel().fit(X, Y)
        with self.assertRaisesRegex(ValueError, "row 0 is 'sub-001' in X and 'sub-060' in Y"):
            NormativeModel().fit(X, Y[::-1])
        with self.assertRaisesRegex(ValueError, "row 2 is 'sub-003' in X and 'sub-004' in Y"):
            model.zscore(X.drop(index="sub-060"), Y.drop(index="sub-003"))
        with self.assertRaisesRegex(ValueError, r"inconsistent numbers of samples: \[60, 59\]"):
            model.zscore(X, Y[:-1])

    def test_features_as_in_training(self) -> None:
        model = NormativeModel().fit(self.X, self.Y)
        more = self.X.assign(group="control")
        np.testing.assert_array_equal(model.predict(more), model.predict(self.X))
        np.testing.assert_array_equal(model.predict(self.X.drop(columns="participant_id")), model.predict(self.X))
        with self.assertRaisesRegex(ValueError, "yet now missing:\n- age\n"):
            model.predict(self.X.drop(columns="age"))
        with self.assertRaisesRegex(ValueError, "unseen at fit time:\n- years\n.*yet now missing:\n- age\n"):
            model.predict(self.X.rename(columns={"age": "years"}))
        with self.assertRaisesRegex(ValueError, "same order"):
            model.predict(self.X[["sex", "age", "site"]])
        array = NormativeModel().fit(self.X[["age"]].to_numpy(), self.Y)
        with self.assertRaisesRegex(ValueError, "X has 2 features, but NormativeModel is expecting 1 features as input"):
            array.predict(np.zeros((3, 2)))
        with self.assertWarnsRegex(UserWarning, "X has feature names, but NormativeModel was fitted without"):
            array.predict(self.X[["age"]])

    def test_columns_of_files_and_frames(self) -> None:
        """Without use, a DataFrame is used as a whole and a file by the usual names of its columns."""
        X = self.X.assign(asd=np.arange(60) % 2)
        with self.assertWarnsRegex(UserWarning, "two values each: asd"):
            self.assertIn("asd", kinds(NormativeModel(components=2).fit(X, self.Y)))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "participants.csv")
            X.to_csv(path, index=False)
            with self.assertWarnsRegex(UserWarning, "not used: asd"):
                self.assertNotIn("asd", kinds(NormativeModel(components=2).fit(path, self.Y)))
            self.assertIn("asd", kinds(NormativeModel(components=2, use="all").fit(path, self.Y)))

    def test_responses_among_the_covariates(self) -> None:
        frame = self.X.assign(**{str(name): self.Y[name] for name in self.Y.columns})
        with self.assertRaisesRegex(ValueError, "a response cannot be a covariate"):
            NormativeModel().fit(frame, self.Y)
        with self.assertRaisesRegex(ValueError, "cannot be a covariate, because it is a response"):
            NormativeModel(use=["age", str(self.Y.columns[0])]).fit(frame, self.Y)
        model = NormativeModel(components=2, use=["age"]).fit(frame, self.Y)
        self.assertEqual(list(kinds(model)), ["age"])

    def test_models_of_arrays_that_were_kept(self) -> None:
        """A file has the names x0, x2 of the columns that were chosen, and no more."""
        A = np.column_stack([self.X["age"], np.arange(60) % 7, np.sqrt(np.arange(60.0))])
        for use in ([0, 2], [1, 2], None):
            model = NormativeModel(use=use).fit(A, self.Y)
            again = NormativeModel.from_bytes(model.to_bytes())
            np.testing.assert_array_equal(again.predict(A), model.predict(A))
            frame = pandas.DataFrame(A, columns=["x0", "x1", "x2"])
            np.testing.assert_array_equal(again.predict(frame[["x2", "x0", "x1"]]), model.predict(A))
            with self.assertRaisesRegex(ValueError, "X has . features, but NormativeModel is expecting"):
                again.predict(A[:, :2])

    def test_refused(self) -> None:
        age = self.X[["age"]].to_numpy()
        hole, far = age.copy(), age.copy()
        hole[3], far[4] = np.nan, np.inf
        text = np.array([["30", {"a": 1}]] * 60, dtype=object)
        cases: list[tuple[Any, type[Exception], str]] = [
            (hole, ValueError, "NaN: column x0, row 3.*missing=\"drop\""), (far, ValueError, "infinity.*column x0, row 4"),
            (age[:, 0], ValueError, "Reshape your data"), (np.zeros((60, 1, 1)), ValueError, "dim 3"),
            (age + 1j, ValueError, "Complex data not supported"), (age[:0], ValueError, "0 sample"),
            (age[:, :0], ValueError, r"0 feature\(s\)"), (age[:1], ValueError, "inconsistent numbers"),
            (text, TypeError, "argument must be a string or a real number, not 'dict'"), (3.0, ValueError, "scalar"),
            ("abc", ValueError, "abc: expected a table named .csv or .tsv"), (None, ValueError, "scalar"),
            (pandas.DataFrame({"day": pandas.to_datetime(["2020-01-01"] * 60)}), ValueError, "column day has dtype datetime64"),
            (self.X.assign(age=np.where(self.X["age"] > 60, np.nan, self.X["age"])), ValueError, "age is 'n/a'.*missing=\"drop\""),
            (self.X.assign(sex="\0"), ValueError, "null character"),
            (pandas.DataFrame(np.zeros((60, 2)), columns=["a", "a"]), ValueError, "two columns are named 'a'"),
            (pandas.DataFrame(np.zeros((60, 2)), columns=["a", 1]), TypeError, "string names"),
            ({"a": [1.0, 2.0], "b": [1.0]}, ValueError, "different lengths"),
        ]
        for X, kind, sentence in cases:
            with self.subTest(sentence), self.assertRaisesRegex(kind, sentence):
                NormativeModel().fit(X, self.Y)

    def test_unseen_levels(self) -> None:
        model = NormativeModel().fit(self.X, self.Y)
        with self.assertRaisesRegex(ValueError, r"row 0 \(from 0\): sex is 'X', which is not a level of the training sample"):
            model.predict(self.X.assign(sex="X"))


class Responses(unittest.TestCase):
    def setUp(self) -> None:
        X, Y = cohort(60, 5)
        self.X, self.Y = X, np.ascontiguousarray(Y.to_numpy())
        self.expected = NormativeModel(components=2).fit(X, self.Y).to_bytes()

    def layouts(self, a: Any) -> dict[str, Any]:
        wide = np.zeros((3 * len(a), 2 * a.shape[1]), dtype=a.dtype)
        wide[::3, ::2] = a
        records = np.zeros(len(a), dtype=[("gap", a.dtype), ("values", a.dtype, a.shape[1])])
        records["values"] = a
        return {"rows": a, "columns": np.asfortranarray(a), "strided": wide[::3, ::2], "fields": records["values"],
                "backwards": a[::-1, ::-1].copy()[::-1, ::-1]}

    def test_any_stride_in_place(self) -> None:
        for name, values in self.layouts(self.Y).items():
            with self.subTest(name):
                self.assertTrue(np.shares_memory(responses(values).values, values))
                self.assertEqual(NormativeModel(components=2).fit(self.X, values).to_bytes(), self.expected)

    def test_float32_in_place(self) -> None:
        single = self.Y.astype(np.float32)
        expected = NormativeModel(components=2).fit(self.X, single.astype(np.float64)).to_bytes()
        for name, values in self.layouts(single).items():
            with self.subTest(name):
                self.assertTrue(np.shares_memory(responses(values).values, values))
                self.assertEqual(NormativeModel(components=2).fit(self.X, values).to_bytes(), expected)

    def test_frames_and_vectors_in_place(self) -> None:
        frame = pandas.DataFrame(self.Y)
        self.assertTrue(np.shares_memory(responses(frame).values, frame.to_numpy()))
        for vector in (self.Y[:, 1], self.Y[::-1, 1], pandas.Series(self.Y[:, 0].copy())):
            self.assertTrue(np.shares_memory(responses(vector).values, np.asarray(vector)))
        broadcast = np.broadcast_to(self.Y[:, :1], (60, 4))
        self.assertEqual(responses(broadcast).view().col_stride, 0)
        NormativeModel(components=1).fit(self.X, broadcast)

    def test_what_has_to_be_copied(self) -> None:
        records = np.zeros(60, dtype=np.dtype([("odd", "i1"), ("values", "f8", 5)]))
        records["values"] = self.Y
        self.assertFalse(in_place(records["values"]))
        for values in (records["values"], self.Y.astype(">f8"), self.Y.astype(np.longdouble), self.Y.astype(object), self.Y.tolist()):
            self.assertEqual(NormativeModel(components=2).fit(self.X, values).to_bytes(), self.expected)
        whole = np.round(self.Y * 100).astype(np.int16)
        self.assertEqual(NormativeModel(components=2).fit(self.X, whole).to_bytes(),
                         NormativeModel(components=2).fit(self.X, whole.astype(float)).to_bytes())

    def test_names(self) -> None:
        names = list("abcde")
        frame = pandas.DataFrame(self.Y, columns=names)
        model = NormativeModel(components=2).fit(self.X, frame)
        self.assertEqual(model.response_names_, names)
        z = model.zscore(self.X, frame, training_rows="plain")
        np.testing.assert_array_equal(model.zscore(self.X, frame[names[::-1]], training_rows="plain"), z)
        np.testing.assert_array_equal(model.zscore(self.X, self.Y, training_rows="plain"), z)
        with self.assertRaisesRegex(ValueError, r"no column 'c' \(a response of the model\)"):
            model.zscore(self.X, frame.drop(columns="c"))
        named = frame.assign(participant_id=list(self.X["participant_id"]))
        self.assertEqual(NormativeModel(components=2).fit(self.X, named).to_bytes(), model.to_bytes())
        self.assertEqual(NormativeModel().fit(self.X, frame["b"]).response_names_, ["b"])

    def test_gaps(self) -> None:
        holes = self.Y.copy()
        holes[::7, 2] = np.nan
        model = NormativeModel(components=2).fit(self.X, holes)
        self.assertEqual(model.info_["n_left_out"], 0)
        np.testing.assert_array_equal(np.isnan(model.zscore(self.X, holes)), np.isnan(holes))
        self.assertEqual(NormativeModel(missing_responses="drop").fit(self.X, holes).info_["n_left_out"], 1)
        self.assertTrue(np.isfinite(model.score(self.X, holes)))

    def test_missing_values_of_pandas(self) -> None:
        y = self.Y[:, 0].copy()
        y[3] = np.nan
        expected = NormativeModel().fit(self.X, y).to_bytes()
        series = pandas.Series(y).astype("Float64")
        self.assertIs(series[3], pandas.NA)
        for given in (series, series.array):
            model = NormativeModel().fit(self.X, given)
            self.assertEqual(model.to_bytes(), expected)
            self.assertEqual(np.flatnonzero(np.isnan(model.zscore(self.X, given))).tolist(), [3])
        whole = pandas.Series(np.round(100 * y)).astype("Int64")
        named = NormativeModel().fit(self.X, {"a": whole, "b": self.Y[:, 1]})
        self.assertEqual(named.to_bytes(), NormativeModel().fit(self.X, {"a": np.round(100 * y), "b": self.Y[:, 1]}).to_bytes())

    def test_refused(self) -> None:
        far = self.Y.copy()
        far[4, 3] = -np.inf
        cases: list[tuple[Any, type[Exception], str]] = [
            (None, ValueError, "requires y to be passed"), (far, ValueError, "Input y contains infinity.*Row 4, column 3"),
            (self.Y[:-1], ValueError, "inconsistent numbers"), (self.Y + 0j, ValueError, "Complex data"),
            (self.Y[:, :0], ValueError, "0 response"), (self.Y[:, :, np.newaxis], ValueError, "1d or 2d"),
            (pandas.DataFrame(self.Y).assign(who="a"), ValueError, "column who has text"),
            (np.full((60, 2), np.nan), ValueError, "fewer than 10 values"), (np.ones((60, 2)), ValueError, "constant"),
            (pandas.DataFrame(self.Y, columns=list("abbcd")), ValueError, "two columns are named 'b'"),
        ]
        for Y, kind, sentence in cases:
            with self.subTest(sentence), self.assertRaisesRegex(kind, sentence):
                NormativeModel(components=2).fit(self.X, Y)
        try:
            from scipy import sparse
        except ImportError:
            return
        for X, Y in ((sparse.csr_matrix(np.eye(60)), self.Y), (self.X, sparse.csr_matrix(self.Y))):
            with self.assertRaisesRegex(TypeError, "sparse"):
                NormativeModel().fit(X, Y)
        model = NormativeModel(components=2).fit(self.X, self.Y)
        with self.assertRaisesRegex(ValueError, "responses have 4 columns, but the model has 5"):
            model.zscore(self.X, self.Y[:, :4])


if __name__ == "__main__":
    unittest.main()
