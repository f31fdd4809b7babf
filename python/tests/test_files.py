"""Tables of FreeSurfer and lists of images of BIDS derivatives are those that the command reads."""
from __future__ import annotations

import pathlib
import tempfile
import unittest

import kronorm
import numpy as np

STATS = """# Measure Cortex, MeanThickness, Mean Thickness, {mean}, mm
# ColHeaders StructName NumVert SurfArea GrayVol ThickAvg
bankssts 1000 700 1800 {mean}
cuneus 2000 1400 2900 2.1
"""


class Files(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.folder = pathlib.Path(made.name)
        for i in range(3):
            stats = cls.folder / "fs" / f"sub-0{i}" / "stats"
            stats.mkdir(parents=True)
            for hemi in ("lh", "rh"):
                (stats / f"{hemi}.aparc.stats").write_text(STATS.format(mean=2.5 + i))
        (cls.folder / "lh.txt").write_text("lh.aparc.thickness\tlh_cuneus_thickness\teTIV\nsub-00\t2.5\t7\nsub-01\t-1\t8\n")
        (cls.folder / "rh.csv").write_text("rh.aparc.thickness,rh_cuneus_thickness,eTIV\nsub-01,2.25,8\nsub-02,3,9\n")

    def test_a_subjects_dir_is_a_table_of_regions(self) -> None:
        table = kronorm.read_freesurfer(self.folder / "fs", "thickness")
        self.assertEqual(list(table.columns), ["participant_id"] + [
            f"{hemi}_{region}_thickness" for hemi in ("lh", "rh") for region in ("bankssts", "cuneus", "MeanThickness")])
        self.assertEqual(list(table["participant_id"]), ["sub-00", "sub-01", "sub-02"])
        np.testing.assert_array_equal(table["rh_bankssts_thickness"], [2.5, 3.5, 4.5])

    def test_tables_are_joined_by_id(self) -> None:
        with self.assertWarnsRegex(kronorm.KronormWarning, "1 value is -1, which is treated as missing: sub-01"):
            table = kronorm.read_freesurfer([self.folder / "lh.txt", self.folder / "rh.csv"])
        self.assertEqual(list(table["participant_id"]), ["sub-00", "sub-01", "sub-02"])
        np.testing.assert_array_equal(table["lh_cuneus_thickness"], [2.5, np.nan, np.nan])
        np.testing.assert_array_equal(table["rh_cuneus_thickness"], [np.nan, 2.25, 3])
        np.testing.assert_array_equal(table["eTIV"], [7, 8, 9])

    def test_what_cannot_be_read_is_a_sentence(self) -> None:
        with self.assertRaisesRegex(kronorm.OptionError, "is a folder of FreeSurfer's recon-all; say what to read"):
            kronorm.read_freesurfer(self.folder / "fs")
        with self.assertRaisesRegex(kronorm.KronormError, "none of 0 images has the entities asked for"):
            kronorm.read_bids(self.folder, "thickness")


if __name__ == "__main__":
    unittest.main()
