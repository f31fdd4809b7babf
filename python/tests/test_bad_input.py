"""Wrong input of every kind: the exception that a scikit-learn user expects, one clear sentence, and a model that is as
it was. What looks odd and is right gives the usual numbers."""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import pickle
import struct
import tempfile
import unittest
import warnings
from typing import Any, Callable

import numpy as np
import pandas

import kronorm
from cohort import cohort
from kronorm import NormativeModel, _abi
from kronorm._library import lib
from kronorm._session import Session
from kronorm._sklearn import NotFittedError

Row = tuple[str, Callable[[], Any], type[BaseException], str]


def setUpModule() -> None:
    warnings.simplefilter("ignore")


def make(**params: Any) -> NormativeModel:
    return NormativeModel(**{"components": 1, "calibrate": "none", **params})


class Refusals(unittest.TestCase):
    model: NormativeModel
    of_arrays: NormativeModel

    @classmethod
    def setUpClass(cls) -> None:
        cls.X, cls.Y = cohort(40, 4)
        cls.new, cls.R = cohort(8, 4, seed=2, first=500)
        cls.A = np.column_stack([cls.X["age"], cls.X["sex"] == "F", np.random.default_rng(3).normal(size=40)]).astype(float)
        cls.B = cls.Y.to_numpy()
        cls.model, cls.of_arrays = make().fit(cls.X, cls.Y), make().fit(cls.A, cls.B)
        cls.bytes, cls.array_bytes = cls.model.to_bytes(), cls.of_arrays.to_bytes()

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refused(self, rows: list[Row]) -> None:
        for name, call, kind, part in rows:
            with self.subTest(name):
                with self.assertRaises(kind) as caught:
                    call()
                told = str(caught.exception)
                self.assertIn(part, told)
                self.assertNotIn("{", told.replace("{1, 2}", ""))  # options as Python spells them
                self.assertNotIn(tempfile.gettempdir() + "/kronorm", told)  # nor files that the caller has not seen
        self.assertEqual(self.model.to_bytes(), self.bytes)
        self.assertEqual(self.model.predict(self.new).shape, (8, 4))

    # ---- training ------------------------------------------------------------------------------------

    def test_covariates(self) -> None:
        A, V, T = self.A, ValueError, TypeError

        def fit(X: Any) -> Callable[[], Any]:
            return lambda: make().fit(X, self.B)

        def frame(*names: Any) -> Callable[[], Any]:
            return fit(pandas.DataFrame(A, columns=list(names)))

        one = A == A[0, 0]
        self.refused([
            ("none", fit(None), V, "Expected 2D array"), ("a number", fit(3), V, "Expected 2D array"),
            ("a vector", fit(A[:, 0]), V, "Reshape your data"), ("empty", fit([]), V, "Expected 2D array"),
            ("a set", fit({1, 2}), V, "Expected 2D array"), ("a function", fit(print), V, "Expected 2D array"),
            ("3-D", fit(A[np.newaxis]), V, "Found array with dim 3"), ("no rows", fit(A[:0]), V, "0 sample(s)"),
            ("no columns", fit(A[:, :0]), V, "0 feature(s)"), ("complex", fit(A + 1j), V, "Complex data not supported"),
            ("times", fit(A.astype("M8[s]")), V, "datetime64"), ("spans", fit(A.astype("m8[s]")), V, "timedelta64"),
            ("days", fit(pandas.DataFrame({"day": pandas.date_range("2000", periods=40)})), V, "column day has dtype datetime64"),
            ("NaN", fit(np.where(one, np.nan, A)), V, "Input X contains NaN: column x0, row 0"),
            ("infinite", fit(np.where(one, -np.inf, A)), V, "Input X contains infinity"),
            ("masked", fit(np.ma.array(A, mask=one)), V, "Input X contains NaN: column x0, row 0"),
            ("ragged", fit([[1, 2], [3]] * 20), V, "Expected 2D array"),
            ("lists in cells", fit(pandas.DataFrame({"a": [[1]] * 40})), T, "column a: float() argument must be"),
            ("beyond all", fit({"a": [10 ** 400, *range(39)]}), V, "column a has a value too large"),
            ("constant", fit(np.ones((40, 2))), V, "every covariate has the same value in all rows"),
            ("texts, each another", fit(A.astype(str)), V, "category x0 has at least 9 levels"),
            ("columns of several lengths", fit({"a": [1, 2], "b": [1]}), V, "different lengths"),
            ("a number for a column", fit({"a": 3}), V, "column a is 3, expected one value per participant"),
            ("an empty dict", fit({}), V, "0 sample(s)"), ("two of a name", frame("a", "a", "b"), V, "two columns are named 'a'"),
            ("a null character", frame("a", "b\0", "c"), V, "null character"), ("no name", frame("a", "", "c"), V, "no name"),
            ("a long name", frame("a" * 100_000, "b", "c"), V, "100000 bytes"),
            ("names of several types", frame("a", 1, "c"), T, "Feature names are only supported"),
            ("not UTF-8", frame("a\udc80", "b", "c"), V, "not UTF-8"), ("half a pair", frame("a\ud800", "b", "c"), V, "surrogates"),
            ("a null character in a cell", fit({"a": ["x\0", "y"] * 20}), V, "null character"),
            ("a file that is not there", fit("nowhere.csv"), OSError, "nowhere.csv: No such file"),
            ("two people", lambda: make().fit(self.X[:2], self.Y[:2]), V, "2 participants with responses, but at least 3 are needed"),
            ("swapped", lambda: make().fit(self.Y, self.X), V, "column sex has text, expected numbers"),
        ])
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            return
        self.refused([("sparse", fit(csr_matrix(A)), T, "sparse matrix was passed as X"),
                      ("sparse y", lambda: make().fit(A, csr_matrix(self.B)), T, "sparse matrix was passed as y")])

    def test_responses(self) -> None:
        B, V, T = self.B, ValueError, TypeError

        def fit(Y: Any) -> Callable[[], Any]:
            return lambda: make().fit(self.A, Y)

        def frame(*names: Any) -> Callable[[], Any]:
            return fit(pandas.DataFrame(B, columns=list(names)))

        self.refused([
            ("none", fit(None), V, "requires y to be passed"), ("a number", fit(3.0), V, "y should be a 1d or 2d array"),
            ("too few rows", fit(B[:5]), V, "inconsistent numbers of samples: [40, 5]"),
            ("no rows", fit(B[:0]), V, "inconsistent numbers of samples: [40, 0]"),
            ("no columns", fit(B[:, :0]), V, "0 response(s)"), ("3-D", fit(B[:, np.newaxis]), V, "shape (40, 1, 4)"),
            ("complex", fit(B + 1j), V, "Complex data not supported"), ("times", fit(B.astype("M8[s]")), V, "datetime64"),
            ("spans", fit(B.astype("m8[s]")), V, "timedelta64"), ("texts", fit(B.astype(str)), V, "expected numbers"),
            ("bytes", fit(B.astype("S")), V, "expected numbers"), ("texts in objects", fit(B.astype(str).astype(object)), V, "there is text"),
            ("a column of texts", fit(self.Y.assign(z="a")), V, "column z has text"),
            ("a column of days", fit(self.Y.assign(z=pandas.Timestamp(0))), V, "column z has dtype datetime64"),
            ("infinite", fit(np.where(B == B[3, 2], np.inf, B)), V, "Row 3, column 2"),
            ("all NaN", fit(B * np.nan), V, "nothing to model"), ("all constant", fit(np.ones_like(B)), V, "nothing to model"),
            ("a whole number beyond all", fit([[10 ** 400] * 4] * 40), V, "too large"),
            ("of fields", fit(np.array([(1.0, 2.0)] * 40, dtype=[("a", "f8"), ("b", "f8")])), T, "Cannot cast"),
            ("ragged", fit([[1, 2], [3]] * 20), V, "inhomogeneous"), ("an empty dict", fit({}), V, "at least one response"),
            ("a set", fit({1, 2}), T, "not 'set'"), ("a function", fit(print), T, "real number"),
            ("two of a name", frame("a", "a", "b", "c"), V, "two columns are named 'a'"),
            ("a null character", frame("a\0", "b", "c", "d"), V, "null character"),
            ("a long name", frame("a" * 100_000, "b", "c", "d"), V, "100000 bytes"),
            ("a text", fit("thickness"), V, "is not a known type of responses"),
            ("a file that is not there", fit("nowhere.csv"), OSError, "nowhere.csv"),
        ])

    def test_ids(self) -> None:
        def fit(ids: Any) -> Callable[[], Any]:
            return lambda: make().fit(self.X.assign(participant_id=ids), self.Y)

        backwards = self.Y.set_index(self.X["participant_id"][::-1])
        self.refused([
            ("missing", fit(np.nan), ValueError, "row 0 (from 0): participant_id is '', but every row must have an ID"),
            ("empty", fit(""), ValueError, "every row must have an ID"), ("lists", fit([[1]] * 40), TypeError, "not 'list'"),
            ("null characters", fit(["a\0"] * 40), ValueError, "null character"),
            ("no such column", lambda: make(id="who").fit(self.X, self.Y), ValueError, "no column 'who' (named in id)"),
            ("of other people", lambda: make().fit(self.X.set_index("participant_id"), backwards), ValueError,
             "row 0 is 'sub-001' in X and 'sub-040' in Y"),
        ])
        self.assertEqual(make().fit(self.X.assign(participant_id=[1, "a"] * 20), self.Y).ids_, ["1", "a"] * 20)
        self.assertEqual(make().fit(self.X.assign(participant_id=range(40)), self.Y).ids_, [str(i) for i in range(40)])

    def test_parameters(self) -> None:
        O = kronorm.OptionError

        def fit(**params: Any) -> Callable[[], Any]:
            return lambda: make(**params).fit(self.X, self.Y)

        rows: list[Row] = [
            (f"components={value!r}", fit(components=value), ValueError, part) for value, part in (
                ("x", "components is 'x'"), (0, "'0'"), (-1, "'-1'"), (99, "at most 4"), (2.5, "'2.5'"), (10 ** 30, "10000"),
                (object(), "<object"), (True, "'yes'"), (np.nan, "'nan'"), ([1, 2], "'1,2'"), ("2\0", "null character"))]
        self.refused(rows + [
            ("method", fit(method="x"), O, "method is 'x', but must be smtgpr|"),
            ("missing", fit(missing="x"), O, "but must be error|drop|mean"), ("batch", fit(batch="q"), ValueError, "no column 'q' (named in batch)"),
            ("a place", fit(batch=[9]), ValueError, "there is no column 9: X has 4"),
            ("use", fit(use="q"), ValueError, "no column 'q' (named in use)"), ("seed", fit(seed=-1), O, "but must be a whole number"),
            ("a large seed", fit(seed=2 ** 70), O, "but must be a whole number"), ("theta", fit(theta=["a"]), O, "but must be numbers with commas"),
            ("a kernel", fit(sample_kernel=3), O, "sample_kernel is '3'"), ("kernels", fit(sample_kernel=["se", 3]), O, "se+3"),
            ("top", fit(top=2), O, "top is 2"), ("folds", fit(folds=1), O, "folds is 1"),
            ("a flag", fit(standardise="x"), O, "but must be yes or no"), ("memory", fit(memory="x"), O, "a size such as 8G"),
            ("no memory", fit(memory=1), MemoryError, "are allowed"), ("threads", fit(threads="x"), ValueError, "threads is 'x'"),
            ("half a thread", fit(threads=2.5), ValueError, "threads is 2.5"), ("fewer", fit(threads=-1), O, "expected 0 or more"),
            ("too many", fit(threads=2 ** 40), O, "expected 0 or more"),
            ("rows of a basis", fit(basis=np.ones((3, 3))), ValueError, "basis has 3 rows, but must have 4"),
            ("a basis 3-D", fit(basis=np.ones((3, 3, 3))), ValueError, "basis: the array has 3 dimensions"),
            ("a basis with NaN", fit(basis=np.full((4, 1), np.nan)), ValueError, "basis: row 1 column 1 is not finite"),
            ("a complex basis", fit(basis=np.ones((4, 1)) * 1j), ValueError, "basis is of dtype complex128"),
            ("no such parameter", lambda: NormativeModel(q=1), TypeError, "'q'"),  # type: ignore[call-arg]
            ("nor to set", lambda: make().set_params(q=1), ValueError, "Invalid parameter"),
        ])
        for same in (np.int64(1), np.array(1), "1"):
            self.assertEqual(make(components=same).fit(self.X, self.Y).to_bytes(), self.bytes)

    # ---- people of a fitted model ----------------------------------------------------------------------

    def test_new_people(self) -> None:
        m, a, new, R, V = self.model, self.of_arrays, self.new, self.R, ValueError
        self.refused([
            ("a level", lambda: m.predict(new.assign(site="Mars")), V, "that is not in the training data (Mars)"),
            ("a level of sex", lambda: m.predict(new.assign(sex="X")), V, "row 0 (from 0): sex is 'X', which is not a level of the training sample"),
            ("a column less", lambda: m.predict(new.drop(columns="age")), V, "yet now missing:\n- age"),
            ("columns in another order", lambda: m.predict(new[new.columns[::-1]]), V, "in the same order as they were in fit"),
            ("fewer places", lambda: a.predict(self.A[:, :2]), V, "X has 2 features, but NormativeModel is expecting 3"),
            ("none", lambda: m.predict(None), V, "Expected 2D array"), ("nobody", lambda: m.predict(new[:0]), V, "0 sample(s)"),
            ("missing", lambda: m.predict(new.assign(age=np.nan)), V, 'missing="drop"'),
            ("infinite", lambda: m.predict(new.assign(age=np.inf)), V, "contains infinity"),
            ("a text for a number", lambda: m.predict(new.assign(age="old")), V, "age is 'old', but must be a number"),
            ("unseen", lambda: m.predict(new, unseen="x"), kronorm.OptionError, "but must be error|prior"),
            ("groups", lambda: m.predict(new, known_groups="x"), kronorm.OptionError, "yes or no"),  # type: ignore[arg-type]
            ("swapped", lambda: m.zscore(R, new), V, "The feature names should match"),
            ("a response less", lambda: m.zscore(new, R.iloc[:, :2]), V, "no column 'region 3'"),
            ("fewer columns", lambda: m.zscore(new, R.to_numpy()[:, :2]), V, "responses have 2 columns, but the model has 4"),
            ("more", lambda: m.zscore(new, np.ones((8, 9))), V, "responses have 9 columns, but the model has 4"),
            ("other names", lambda: m.zscore(new, R.rename(columns={"region 1": "q"})), V, "no column 'region 1'"),
            ("fewer rows", lambda: m.zscore(new, R[:3]), V, "inconsistent numbers of samples: [8, 3]"),
            ("no responses", lambda: m.zscore(new, None), V, "requires y to be passed"),
            ("R2 of none", lambda: m.score(new, None), V, "requires y to be passed"),
            ("R2 of fewer rows", lambda: m.score(new, R[:3]), V, "inconsistent numbers of samples: [8, 3]"),
            ("R2 of fewer columns", lambda: m.score(new, R.to_numpy()[:, :2]), V, "responses have 2 columns, but the model has 4"),
            ("weights", lambda: m.score(new, R, [1, 2]), V, "inconsistent numbers of samples: [8, 8, 2]"),
            ("known sites", lambda: m.adapt(new, R), V, "from a site that is already in the model"),
            ("adapt to none", lambda: m.adapt(None, None), V, "Expected 2D array"),
        ])
        usual = m.zscore(new, R)
        np.testing.assert_array_equal(m.zscore(new, R.iloc[:, ::-1]), usual)  # by name
        np.testing.assert_array_equal(m.zscore(new.assign(more=1), R.assign(more=2.0)), usual)
        self.assertTrue(np.isnan(m.zscore(new, R * np.nan)).all())

    def test_options_of_calls(self) -> None:
        m, new, R, O, V = self.model, self.new, self.R, kronorm.OptionError, ValueError

        def scores(**options: Any) -> Callable[[], Any]:
            return lambda: m.score_participants(new, R, **options)

        def curves(over: Any = "age", **options: Any) -> Callable[[], Any]:
            return lambda: m.centiles(over, **options)

        self.refused([
            ("threshold", scores(threshold="x"), O, "threshold is 'x', but must be a number"),
            ("no number", scores(threshold=np.nan), O, "but must be a number"), ("below 0", scores(threshold=-1), O, "it must be above 0"),
            ("no such option", scores(treshold=1), TypeError, "unexpected keyword argument 'treshold'"),
            ("label", scores(cases="x"), O, "cases is 'x', but must be COLUMN=VALUE"), ("of no column", scores(cases="q=1"), V, "no column 'q'"),
            ("floats", scores(cases=np.ones(8)), V, "expected COLUMN=VALUE or 8 booleans"),
            ("too few", scores(cases=[True]), V, "8 booleans"), ("null", scores(cases="site=\0"), V, "null character"),
            ("reference", scores(reference="x"), O, "but must be COLUMN=VALUE"), ("rows", scores(training_rows="x"), O, "cv|plain"),
            ("maps", lambda: m.scores(new, R, maps="q"), V, "maps is 'q', but must be some of z"),
            ("maps None", lambda: m.scores(new, R, maps=None), V, "maps is None"),  # type: ignore[arg-type]
            ("over nothing", curves(None), O, "over is needed"), ("over q", curves("q"), O, "q"), ("a site", curves("site"), O, "a category"),
            ("101", curves(centiles=[101]), O, "above 0 and below 100"), ("none", curves(centiles=[]), O, "numbers between 0 and 100"),
            ("grid", curves(grid=0), O, "2 to 10000"), ("at", curves(at={"q": 1}), O, "no covariate 'q'"),
            ("at 3", curves(at=3), O, "COVARIATE=VALUE"), ("table", curves(table="q"), V, "there are 'centiles'"),
            ("bands", curves(bands="q"), O, "none|model|jackknife"), ("training", curves(training=3), V, "expected (X, Y)"),
            ("half", curves(training=(self.X,)), V, "expected (X, Y)"), ("X alone", curves(X=new), V, "no responses"),
            ("visit", lambda: m.change(new, R, visit=None), O, "visit is needed"),  # type: ignore[arg-type]
            ("stable people", lambda: m.change(new, R, visit="site"), O, "reference is needed"),
            ("folds", lambda: make().cv(self.X, self.Y, folds=1), O, "2 or more"),
            ("people", lambda: make().cv(self.X, self.Y, folds=99), V, "too large for 40 participants"),
            ("leave_out", lambda: make().cv(self.X, self.Y, leave_out="q"), V, "no column 'q'"),
            ("cv of none", lambda: make().cv(None, None), V, "Expected 2D array"),
            ("no space", lambda: m.to_images(np.ones(4)), V, "not fitted to images"),
            ("images", lambda: kronorm.fit_images(self.X, self.B), V, "expected paths or nibabel images"),
            ("no images", lambda: kronorm.fit_images(None, None), V, "expected paths or nibabel images"),
            ("a command", lambda: kronorm.options("x"), V, "there is no command 'x'"),
            ("no command", lambda: kronorm.options(None), TypeError, "expected text"),  # type: ignore[arg-type]
            ("report", lambda: m.report(self.folder / "x.html", q=1), O, "unknown option 'q' of report"),
            ("write_scores", lambda: m.write_scores(self.folder / "o", new, R, q=1), O, "unknown option 'q' of score"),
            ("nowhere", lambda: m.write_scores(None, new, R), TypeError, "PathLike"),  # type: ignore[arg-type]
        ])
        self.assertEqual(list(self.folder.iterdir()), [])

    # ---- files and bytes -------------------------------------------------------------------------------

    def test_files(self) -> None:
        path, m, d = self.folder / "m.safetensors", self.model, self.folder
        m.save(path)
        whole = path.read_bytes()
        size = struct.unpack("<Q", whole[:8])[0]
        header = json.loads(whole[8:8 + size])
        header["__metadata__"]["format_version"] = "999"
        later = json.dumps(header).encode()
        files = {"text": b"participant_id\tage\nsub-1\t30\n", "empty": b"", "short": whole[:3000], "cut": whole[:-5],
                 "later": struct.pack("<Q", len(later)) + later + whole[8 + size:], "wild": struct.pack("<Q", 2 ** 63) + whole[8:]}
        for name, content in files.items():
            (d / name).write_bytes(content)
        os.chmod(d / "text", 0)
        opened: list[Row] = [(f"load {name}", (lambda name=name: kronorm.load(d / name)), kind, part) for name, kind, part in (
            ("empty", ValueError, "0 bytes"), ("short", ValueError, "the file ends"), ("cut", ValueError, "the file ends"),
            ("later", ValueError, "999"), ("wild", ValueError, "safetensors"), ("nowhere", OSError, "no such file"), ("", OSError, "is a folder; give the name of a file"))]
        taken: list[Row] = [(f"bytes {name}", (lambda content=content: NormativeModel.from_bytes(content)), ValueError, "") for
                            name, content in files.items()]
        self.refused(opened + taken + [
            ("load None", lambda: kronorm.load(None), TypeError, "PathLike"),  # type: ignore[arg-type]
            ("load 3", lambda: kronorm.load(3), TypeError, "PathLike"),  # type: ignore[arg-type]
            ("load null", lambda: kronorm.load("m.safetensors\0"), ValueError, "null character"),
            ("bytes of None", lambda: NormativeModel.from_bytes(None), TypeError, "bytes-like"),  # type: ignore[arg-type]
            ("bytes of text", lambda: NormativeModel.from_bytes("x"), TypeError, "bytes-like"),  # type: ignore[arg-type]
            ("save over", lambda: m.save(path), OSError, "already exists"), ("save None", lambda: m.save(None), TypeError, "PathLike"),  # type: ignore[arg-type]
            ("save nowhere", lambda: m.save(d / "no" / "m"), OSError, "no such file or directory"),
            ("save to a folder", lambda: m.save(d, force=True), OSError, "is a folder; give the name of a file"),
            ("save null", lambda: m.save(str(d / "a\0b")), ValueError, "null character"),
            ("export over", lambda: m.export(path), OSError, "already exists"),
            ("report to a folder", lambda: m.report(d), OSError, "is a folder; give the name of a file"),
        ])
        self.assertEqual({file.name for file in d.iterdir()}, {*files, "m.safetensors"})
        self.assertEqual(path.read_bytes(), whole)
        if os.getuid() != 0:
            self.assertRaises(OSError, kronorm.load, d / "text")
        for way in (bytes, bytearray, memoryview):
            self.assertEqual(NormativeModel.from_bytes(way(whole)).to_bytes(), whole)  # type: ignore[arg-type]
        odd = os.fsdecode(os.fsencode(d) + b"/\xff \n.safetensors")
        m.save(odd)
        self.assertEqual(kronorm.load(os.fsencode(odd)).to_bytes(), whole)  # type: ignore[arg-type]

    def test_bytes_that_were_changed(self) -> None:
        """A flipped byte is refused or is a model; never a crash."""
        rng = np.random.default_rng(5)
        for place in rng.integers(0, len(self.bytes), 150):
            content = bytearray(self.bytes)
            content[place] ^= 1 << int(rng.integers(8))
            try:
                model = NormativeModel.from_bytes(bytes(content))
                model.zscore(self.new, self.R)
            except (ValueError, OSError, ArithmeticError, AttributeError):
                continue

    def test_pickles_that_were_changed(self) -> None:
        state = self.model.__getstate__()
        for content in (b"", b"no model", self.bytes[:-1]):
            with self.assertRaises(ValueError):
                pickle.loads(pickle.dumps(self.model)).__setstate__({**state, "_model_bytes": content})

    # ---- no model --------------------------------------------------------------------------------------

    METHODS: dict[str, Callable[[Any, Any], Any]] = {
        "predict": lambda m, t: m.predict(t.new), "zscore": lambda m, t: m.zscore(t.new, t.R), "scores": lambda m, t: m.scores(t.new, t.R),
        "score_participants": lambda m, t: m.score_participants(t.new, t.R), "score_responses": lambda m, t: m.score_responses(t.new, t.R),
        "score": lambda m, t: m.score(t.new, t.R), "adapt": lambda m, t: m.adapt(t.new, t.R), "centiles": lambda m, t: m.centiles("age"),
        "change": lambda m, t: m.change(t.new, t.R, visit="site"), "report": lambda m, t: m.report(t.folder / "r.html"),
        "export": lambda m, t: m.export(t.folder / "e"), "save": lambda m, t: m.save(t.folder / "s"), "to_bytes": lambda m, t: m.to_bytes(),
        "close": lambda m, t: m.close(), "summary": lambda m, t: m.summary(), "to_images": lambda m, t: m.to_images([1]),
        "write_scores": lambda m, t: m.write_scores(t.folder / "w", t.new, t.R),
        **{name: (lambda m, t, name=name: getattr(m, name)) for name in (  # type: ignore[misc]
            "info_", "lml_", "n_components_", "n_outputs_", "response_names_", "ids_", "components_", "noise_", "cv_zscores_")},
    }

    def test_every_method_is_here(self) -> None:
        own = {name for kind in NormativeModel.__mro__ if kind.__module__.startswith("kronorm") for name in vars(kind)
               if not name.startswith("_")}
        others = {"fit", "cv", "from_bytes", "missing", "get_params", "set_params"}
        self.assertEqual(own - others, set(self.METHODS))

    def test_unfitted_and_closed(self) -> None:
        closed = pickle.loads(pickle.dumps(self.model))
        closed.close()
        for name, call in self.METHODS.items():
            with self.subTest(name):
                with self.assertRaisesRegex(NotFittedError, "not fitted yet. Call 'fit'"):
                    call(NormativeModel(), self)
                with self.assertRaisesRegex(ValueError, "is closed"):
                    call(closed, self)
        self.assertEqual(list(self.folder.iterdir()), [])
        again = pickle.loads(pickle.dumps(closed))
        with self.assertRaisesRegex(ValueError, "is closed"):
            again.predict(self.new)
        self.assertEqual(closed.set_params(calibrate="none").fit(self.X, self.Y).to_bytes(), self.bytes)

    def test_handles_of_another_kind(self) -> None:
        session = Session()
        options = session.options("fit", {})
        native = self.model._fitted()
        for call in (lambda: lib.kn_fit(session.ctx, options.pointer, native.handle.pointer, ctypes.byref(_abi.kn_model())),
                     lambda: lib.kn_model_number(session.ctx, b"lml"), lambda: lib.kn_model_number(options.pointer, b"lml"),
                     lambda: lib.kn_model_number(native.handle, b"lml"), lambda: lib.kn_model_number(1, b"lml"),
                     lambda: lib.kn_model_free(session.ctx), lambda: lib.kn_ctx_free(native.handle.pointer),
                     lambda: lib.kn_model_number(native.handle.pointer, "lml"),
                     lambda: session.work("fit", options, native.handle, makes=_abi.kn_model),
                     lambda: session.work("predict", native.handle, native.handle, options, makes=_abi.kn_scores)):
            with self.assertRaises(ctypes.ArgumentError):
                call()
        self.assertEqual(make().fit(self.X, self.Y).to_bytes(), self.bytes)

    # ---- what is right -----------------------------------------------------------------------------------

    def test_arrays_of_any_kind(self) -> None:
        A, B = self.A, self.B
        usual = self.of_arrays.zscore(A, B, training_rows="plain")
        wide, frozen = np.zeros((80, 12)), B.copy()
        wide[::2, ::3] = B
        frozen.flags.writeable = False
        unaligned = np.frombuffer(b"x" + B.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(B.shape)
        for name, Y in {"big-endian": B.astype(">f8"), "Fortran": np.asfortranarray(B), "strided": wide[::2, ::3],
                        "backwards": B[::-1, ::-1].copy()[::-1, ::-1], "read-only": frozen, "lists": B.tolist(),
                        "objects": B.astype(object), "unaligned": unaligned, "long": B.astype(np.longdouble),
                        "a frame": pandas.DataFrame(B), "masked": np.ma.array(B, mask=False), "matrix": np.matrix(B),
                        "transposed": B.T.copy().T, "a memoryview": memoryview(B)}.items():
            with self.subTest(name):
                self.assertEqual(make().fit(A, Y).to_bytes(), self.array_bytes)
                np.testing.assert_array_equal(self.of_arrays.zscore(A, Y, training_rows="plain"), usual)
        for name, X in {"big-endian": A.astype(">f8"), "Fortran": np.asfortranarray(A), "lists": A.tolist(), "objects": A.astype(object),
                        "long": A.astype(np.longdouble), "masked": np.ma.array(A, mask=False), "backwards": A[::-1].copy()[::-1]}.items():
            with self.subTest(name):
                self.assertEqual(make().fit(X, B).to_bytes(), self.array_bytes)

    def test_arrays_of_other_numbers(self) -> None:
        for kind in ("f4", "f2", "i1", "i8", "u2", "?"):
            Y = (self.B * 3 + 20).astype(kind) if kind != "?" else self.B > 0
            with self.subTest(kind):
                with_own, with_doubles = (make().fit(self.A, y) for y in (Y, Y.astype(float)))
                self.assertEqual(with_own.to_bytes(), with_doubles.to_bytes())
        same = np.broadcast_to(self.B[:, :1], (40, 4))  # strides of 0
        self.assertEqual(make().fit(self.A, same).to_bytes(), make().fit(self.A, same.copy()).to_bytes())

    def test_what_is_masked_is_missing(self) -> None:
        gone = np.zeros(self.B.shape, dtype=bool)
        gone[3, 1] = gone[7, 2] = True
        with_gaps = make().fit(self.A, np.where(gone, np.nan, self.B)).to_bytes()
        self.assertEqual(make().fit(self.A, np.ma.array(self.B, mask=gone)).to_bytes(), with_gaps)
        self.assertNotEqual(with_gaps, self.array_bytes)
        mask = np.zeros(self.A.shape, dtype=bool)
        mask[5, 0] = True
        dropped = make(missing="drop").fit(np.where(mask, np.nan, self.A), self.B).to_bytes()
        self.assertEqual(make(missing="drop").fit(np.ma.array(self.A, mask=mask), self.B).to_bytes(), dropped)
        with self.assertRaisesRegex(ValueError, "X contains NaN"):
            self.of_arrays.predict(np.ma.array(self.A, mask=mask))

    def test_names_of_any_kind(self) -> None:
        X = pandas.DataFrame(self.A, columns=["Älter", "年齢", "a b\tc"])
        Y = pandas.DataFrame(self.B, columns=["😀", "b\nc", "100%", "x" * 1000])
        model = make().fit(X, Y)
        same = pickle.loads(pickle.dumps(model))
        self.assertEqual(same.response_names_, list(Y.columns))
        self.assertEqual(list(same.feature_names_in_), list(X.columns))
        plain, of_plain = X.set_axis(list("abc"), axis=1), Y.set_axis(list("pqrs"), axis=1)
        np.testing.assert_array_equal(same.zscore(X, Y, training_rows="plain"),
                                      make().fit(plain, of_plain).zscore(plain, of_plain, training_rows="plain"))


if __name__ == "__main__":
    unittest.main()
