"""What Python makes is what the command makes of the same numbers in files: model and z byte for byte, tables number by
number. Both run with one core of OpenBLAS, and this process may have another: the Python side is one of its own."""
from __future__ import annotations

import os
import pathlib
import sys
import tempfile
import unittest
from typing import Any

import numpy as np

from cohort import cohort, command, maps, people, python, read, write

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"))
from same_model import same  # noqa: E402

START = """
import numpy as np, pandas, kronorm
from cohort import read
X, Y = read("train.tsv"), read("train.csv")
"""


@unittest.skipUnless(os.environ.get("KRONORM_COMMAND"), "KRONORM_COMMAND names no command")
class Command(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.folder = pathlib.Path(made.name)
        X, Y = cohort(90)
        Y.iloc[3, 4] = Y.iloc[8, 0] = np.nan
        write(cls.folder, "train", X, Y)
        new, responses = cohort(40, seed=2, first=500)
        new["group"] = np.where(np.arange(40) < 12, "patient", "control")
        write(cls.folder, "new", new, responses + 1.0 * (np.arange(40) < 12)[:, np.newaxis])
        clinic = people(25, 3, ("Rome",), 700)
        write(cls.folder, "clinic", clinic, maps(clinic, seed=3))
        visits = people(30, 4, first=900)
        again = visits.assign(age=visits["age"] + 1.5)
        both = visits.assign(session="1")._append(again.assign(session="2"), ignore_index=True)
        both["group"] = np.where(np.arange(60) % 30 < 22, "stable", "patient")
        write(cls.folder, "visits", both, maps(both, seed=5).assign(session=both["session"]))
        command("fit", "-c", "train.tsv", "-y", "train.csv", "-o", "model.safetensors", folder=cls.folder)

    def same_bytes(self, a: str, b: str) -> None:
        self.assertEqual((self.folder / a).read_bytes(), (self.folder / b).read_bytes())

    def same_model(self, a: str, b: str) -> None:
        """But for the files that the command names in the record of its run."""
        self.assertTrue(same(self.folder / a, self.folder / b))

    def same_table(self, a: str, b: str) -> None:
        import pandas
        pandas.testing.assert_frame_equal(read(self.folder / a), read(self.folder / b), check_exact=True, check_dtype=False)

    def test_model(self) -> None:
        python(START + 'kronorm.NormativeModel().fit(X, Y).save("own.safetensors")', self.folder)
        self.same_model("own.safetensors", "model.safetensors")

    def test_models_of_other_options(self) -> None:
        for i, (words, given) in enumerate((
                (["--components", 3, "--seed", 4, "--calibrate", "none"], 'components=3, seed=4, calibrate="none"'),
                (["--method", "stgpr", "--use", "age,sex"], 'method="stgpr", use=["age", "sex"]'),
                (["--no-standardise", "--folds", 0, "--interaction", "site:age"],
                 'standardise=False, folds=0, interaction="site:age"'),
                (["--preset", "paper", "--components", 4], 'preset="paper", components=4'))):
            with self.subTest(given):
                command("fit", "-c", "train.tsv", "-y", "train.csv", "-o", f"{i}.safetensors", *words, folder=self.folder)
                python(START + f'kronorm.NormativeModel({given}).fit(X, Y).save("own{i}.safetensors")', self.folder)
                self.same_model(f"own{i}.safetensors", f"{i}.safetensors")

    def test_scores(self) -> None:
        command("score", "model.safetensors", "-c", "new.tsv", "-y", "new.csv", "--cases", "group=patient", "--format", "npy",
                "--write", "z,yhat,ys2_model,fdr,ys2,metrics", "-o", "scored", folder=self.folder)
        python(START + """
model = kronorm.NormativeModel().fit(X, Y)
scores = model.scores(read("new.tsv"), read("new.csv"), cases="group=patient", maps=["z", "yhat", "ys2_model", "fdr", "ys2"])
for name in ("z", "yhat", "ys2_model", "fdr", "ys2"):
    np.save(f"own_{name}.npy", scores.map(name))
scores.participants.to_csv("people.tsv", sep="\\t", index=False, na_rep="n/a")
scores.responses.to_csv("responses.tsv", sep="\\t", index=False, na_rep="n/a")
json = __import__("json").load(open("scored/summary.json"))
own = scores.summary
for part in ("metrics", "calibration", "AUC", "gev", "abnormality", "counts"):
    assert own[part] == json[part], part
""", self.folder)
        for name in ("z", "yhat", "ys2_model", "fdr", "ys2"):
            self.same_bytes(f"own_{name}.npy", f"scored/{name}.npy")
        self.same_table("people.tsv", "scored/abnormality.tsv")
        self.same_table("responses.tsv", "scored/metrics.tsv")

    def test_training_people(self) -> None:
        """They get their cross-validated z, which the model has as cv_zscores_."""
        command("score", "model.safetensors", "-c", "train.tsv", "-y", "train.csv", "--format", "npy", "-o", "again",
                folder=self.folder)
        python(START + """
model = kronorm.load("model.safetensors")
np.save("own_z.npy", model.zscore(X, Y))
assert np.array_equal(model.cv_zscores_, np.load("again/z.npy"), equal_nan=True)
assert (model.score_participants(X, Y)["in_training"] == 1).all()
""", self.folder)
        self.same_bytes("own_z.npy", "again/z.npy")

    def test_predict(self) -> None:
        command("predict", "model.safetensors", "-c", "new.tsv", "--format", "npy", "--write", "yhat,ys2", "-o", "expected",
                folder=self.folder)
        python(START + """
mean, std = kronorm.NormativeModel().fit(X, Y).predict(read("new.tsv"), return_std=True)
assert np.array_equal(mean, np.load("expected/yhat.npy"))
assert np.array_equal(std, np.sqrt(np.load("expected/ys2.npy").astype(float)))
""", self.folder)

    def test_adapt(self) -> None:
        command("adapt", "model.safetensors", "-c", "clinic.tsv", "-y", "clinic.csv", "-o", "rome.safetensors", folder=self.folder)
        python(START + """
model = kronorm.NormativeModel().fit(X, Y)
before = model.to_bytes()
model.adapt(read("clinic.tsv"), read("clinic.csv")).save("own_rome.safetensors")
assert model.to_bytes() == before
""", self.folder)
        self.same_model("own_rome.safetensors", "rome.safetensors")

    def test_centiles(self) -> None:
        command("centiles", "model.safetensors", "--over", "age", "--at", "sex=F", "--centiles", "2.5,50,97.5", "--people",
                "new.tsv", "-y", "new.csv", "-o", "curves", folder=self.folder)
        python(START + """
model = kronorm.NormativeModel().fit(X, Y)
given = dict(over="age", at={"sex": "F"}, centiles=[2.5, 50, 97.5], X=read("new.tsv"), Y=read("new.csv"))
for table in ("centiles", "params", "points"):
    model.centiles(**given, table=table).to_csv(f"own_{table}.tsv", sep="\\t", index=False, na_rep="n/a")
""", self.folder)
        for table in ("centiles", "params", "points"):
            self.same_table(f"own_{table}.tsv", f"curves/{table}.tsv")

    def test_change(self) -> None:
        command("change", "model.safetensors", "-c", "visits.tsv", "-y", "visits.csv", "--visit",
                "session", "--reference", "group=stable", "--format", "npy", "-o", "change", "--save", "kept.safetensors",
                folder=self.folder)
        python(START + """
visits = pandas.read_csv("visits.tsv", sep="\\t", float_precision="round_trip", dtype={"session": str})
values = read("visits.csv").drop(columns="session")
model = kronorm.NormativeModel().fit(X, Y)
changes = model.change(visits, values, visit="session", reference="group=stable")
changes.table.to_csv("own_change.tsv", sep="\\t", index=False, na_rep="n/a")
np.save("own_change.npy", changes.z)
changes.model.save("own_kept.safetensors")
""", self.folder)
        self.same_table("own_change.tsv", "change/change.tsv")
        self.same_bytes("own_change.npy", "change/change_z.npy")
        self.same_model("own_kept.safetensors", "kept.safetensors")

    def test_cv(self) -> None:
        command("cv", "-c", "train.tsv", "-y", "train.csv", "--folds", 4, "--components", 3, "--format", "npy", "-o", "held",
                folder=self.folder)
        python(START + """
held = kronorm.NormativeModel(components=3).cv(X, Y, folds=4)
np.save("own_held.npy", held.z)
held.participants.to_csv("own_held.tsv", sep="\\t", index=False, na_rep="n/a")
held.folds.to_csv("own_folds.tsv", sep="\\t", index=False, na_rep="n/a")
""", self.folder)
        self.same_bytes("own_held.npy", "held/z.npy")
        self.same_table("own_held.tsv", "held/abnormality.tsv")
        self.same_table("own_folds.tsv", "held/folds.tsv")

    def test_report_has_the_same_numbers(self) -> None:
        self.assertEqual(python(START + """
model = kronorm.load("model.safetensors")
path = model.report("page.html", read("new.tsv"), read("new.csv"), cases="group=patient", title="A page")
text = path.read_text()
assert "A page" in text and "sub-500" in text
try:
    model.report("page.html")
except OSError as error:
    print("refused")
""", self.folder), "refused\n")

    def test_export(self) -> None:
        command("export", "model.safetensors", "-o", "shared.safetensors", folder=self.folder)
        python(START + """
model = kronorm.NormativeModel().fit(X, Y)
assert model.export("own_shared.safetensors")["mean"] < .01
shared = kronorm.load("own_shared.safetensors")
assert shared.ids_ is None
assert abs(shared.predict(X) - model.predict(X)).max() < .01
""", self.folder)
        self.same_bytes("own_shared.safetensors", "shared.safetensors")


if __name__ == "__main__":
    unittest.main()
