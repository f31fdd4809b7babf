"""numpy alone is enough: without pandas, scikit-learn, nibabel, tqdm or any of them, numbers are the same to the bit,
tables are dicts of columns, and what needs one of them says so."""
from __future__ import annotations

import json
import pathlib
import pickle
import tempfile
import unittest
from typing import Any

from cohort import cohort, python, write

# Numbers of one cohort: as a dict of columns and an array, which need nothing but numpy.
CODE = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import pickle, json
import numpy as np
import kronorm
from kronorm import NormativeModel
with open("people.pickle", "rb") as file:
    X, Y, new, R = pickle.load(file)
model = NormativeModel(components=2, progress={progress!r}).fit(X, Y)
same = pickle.loads(pickle.dumps(model))
assert same.to_bytes() == model.to_bytes()
mean, std = same.predict(new, return_std=True)
z = model.zscore(new, R)
people = model.score_participants(new, R, label=np.arange(len(R)) < 5)
responses = model.score_responses(new, R)
curves = model.centiles("age", grid=4)
model.save("{name}.safetensors")
try:
    NormativeModel().predict(new)
except ValueError as error:
    unfitted = [type(error).__name__, isinstance(error, AttributeError), str(error)]
columns = lambda t: {{name: [None if v != v else v for v in np.asarray(t[name]).tolist()] for name in t}}
json.dump({{
    "model": model.to_bytes().hex(), "mean": mean.tolist(), "std": std.tolist(), "z": z.tolist(), "people": columns(people),
    "responses": columns(responses), "curves": columns(curves), "kinds": [type(t).__name__ for t in (people, responses, curves)],
    "shape": list(people.shape), "R2": model.score(new, R), "params": sorted(model.get_params()), "repr": repr(model),
    "unfitted": unfitted, "loaded": [name for name in ("pandas", "sklearn", "nibabel", "tqdm") if sys.modules.get(name)],
    "text": repr(people).splitlines()[0].split()[:2], "own": kronorm.load("{name}.safetensors").zscore(new, R).tolist(),
    "options": len(kronorm.options("fit")["option"]), "file": model.zscore("new.tsv", R).tolist()}}, open("{name}.json", "w"))
"""


class Without(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        room = tempfile.TemporaryDirectory()
        cls.addClassCleanup(room.cleanup)
        cls.folder = pathlib.Path(room.name)
        X, Y = cohort(60, 5)
        new, R = cohort(20, 5, seed=2, first=500)
        write(cls.folder, "new", new, R)

        def plain(frame: Any) -> dict[str, list[Any]]:
            return {name: list(frame[name]) for name in frame}
        with open(cls.folder / "people.pickle", "wb") as file:
            pickle.dump((plain(X), Y.to_numpy(), plain(new), R.to_numpy()), file)
        cls.usual = cls.run_without("usual")

    @classmethod
    def run_without(cls, name: str, *blocked: str, progress: bool = False) -> dict[str, Any]:
        python(CODE.format(blocked=blocked, name=name, progress=progress), cls.folder)
        out: dict[str, Any] = json.loads((cls.folder / f"{name}.json").read_text())
        return out

    def same(self, got: dict[str, Any], *but: str) -> None:
        for key, value in self.usual.items():
            if key not in (*but, "kinds", "loaded", "text", "unfitted"):
                self.assertEqual(got[key], value, key)

    def test_without_pandas(self) -> None:
        got = self.run_without("no_pandas", "pandas")
        self.same(got)
        self.assertEqual(self.usual["kinds"], ["DataFrame"] * 3)
        self.assertEqual(got["kinds"], ["Table"] * 3)
        self.assertEqual(got["text"], ["participant_id", "in_training"])
        self.assertEqual(got["shape"], [20, len(got["people"])])

    def test_without_sklearn(self) -> None:
        got = self.run_without("no_sklearn", "sklearn")
        self.same(got, "repr")
        self.assertEqual(got["unfitted"][1:], self.usual["unfitted"][1:])
        self.assertEqual(got["repr"], "NormativeModel(components=2, progress=False)")
        self.assertNotIn("sklearn", got["loaded"])

    def test_without_nibabel_and_tqdm(self) -> None:
        got = self.run_without("no_nibabel", "nibabel", "tqdm", progress=True)
        self.same(got, "repr")
        self.assertFalse({"nibabel", "tqdm"} & set(got["loaded"]))
        self.assertNotIn("nibabel", self.usual["loaded"])  # nor before it is needed

    def test_without_any(self) -> None:
        self.same(self.run_without("alone", "pandas", "sklearn", "nibabel", "tqdm", "scipy", "joblib"), "repr")

    def test_files_of_one_are_read_by_the_other(self) -> None:
        names = ("usual", "alone_too")
        self.run_without("alone_too", "pandas", "sklearn", "nibabel", "tqdm")
        first, second = ((self.folder / f"{name}.safetensors").read_bytes() for name in names)
        self.assertEqual(first, second)

    def test_images_of_memory_need_nibabel(self) -> None:
        told = python("import sys; sys.modules['nibabel'] = None\nimport numpy as np, kronorm\n"
                      "class Image:\n    dataobj, affine, shape = np.zeros((2, 2, 2)), np.eye(4), (2, 2, 2)\n"
                      "try:\n    kronorm.fit_images({'age': [1., 2., 3.]}, [Image()] * 3)\nexcept ImportError as error: print(error)",
                      self.folder)
        self.assertIn("need nibabel: install", told)


if __name__ == "__main__":
    unittest.main()
