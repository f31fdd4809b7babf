"""A short end-to-end run of the package with numpy alone, for `make check`: the numbers of the command, a model that is
saved and opened, and an exception with a sentence. The other files have the rest."""
from __future__ import annotations

import csv
import os
import pathlib
import tempfile
import unittest

import kronorm
import numpy as np

from cohort_short import command, simulate, write


@unittest.skipUnless(os.environ.get("KRONORM_COMMAND"), "KRONORM_COMMAND names no command")
class Short(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.folder = pathlib.Path(made.name)
        cls.X, cls.Y = simulate(60, seed=1)
        cls.new_X, cls.new_Y = simulate(20, seed=2)
        cls.new_Y[4] -= 2  # one participant is far from the others
        write(cls.folder / "train.csv", cls.X, cls.Y)
        write(cls.folder / "new.csv", cls.new_X, cls.new_Y)
        use = ["--use", "x0,x1", "--targets", "y*"]
        command(cls.folder, "fit", "-c", "train.csv", "-y", "train.csv", *use, "-o", "model.safetensors")
        command(cls.folder, "score", "model.safetensors", "-c", "new.csv", "-y", "new.csv", "-o", "scored", "--format", "npy")
        cls.model = kronorm.NormativeModel().fit(cls.X, cls.Y)

    def test_numbers_are_those_of_the_command(self) -> None:
        scores = self.model.scores(self.new_X, self.new_Y)
        z = np.load(self.folder / "scored" / "z.npy")
        self.assertEqual(z.shape, scores.z.shape)
        np.testing.assert_allclose(scores.z, z, rtol=0, atol=1e-5)
        with open(self.folder / "scored" / "abnormality.tsv", newline="") as table:
            rows = list(csv.DictReader(table, delimiter="\t"))
        p = np.array([float(row["extreme_z_p"]) for row in rows])
        np.testing.assert_allclose(scores._column("extreme_z_p"), p, rtol=1e-5)
        self.assertEqual(int(np.argmin(p)), 4)
        flagged = np.array([float(row["flagged"]) for row in rows])
        np.testing.assert_array_equal(scores._column("flagged"), flagged)
        others = scores.summary["abnormality"]["others"]
        self.assertEqual((others["flagged"], others["with_p"]), (flagged.sum(), len(flagged)))
        self.assertTrue((scores.z[4] < -1).all())

    def test_a_saved_model_is_the_same_model(self) -> None:
        self.model.save(self.folder / "own.safetensors")
        again = kronorm.load(self.folder / "own.safetensors")
        np.testing.assert_array_equal(again.zscore(self.new_X, self.new_Y), self.model.zscore(self.new_X, self.new_Y))
        np.testing.assert_array_equal(again.predict(self.new_X), self.model.predict(self.new_X))

    def test_wrong_input_is_a_sentence(self) -> None:
        with self.assertRaisesRegex(ValueError, "60.*59|59.*60"):
            kronorm.NormativeModel().fit(self.X, self.Y[:-1])


if __name__ == "__main__":
    unittest.main()
