"""Brain images: by path the model and the maps are the command's to the byte; images of nibabel, 4D images and maskers
give the same z; an image is that of its row; nothing is left behind, and inputs stay as they are.
"""
from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import tracemalloc
import unittest
import warnings

try:
    import nibabel as nib
    import numpy as np
    import pandas as pd
except ImportError as error:
    raise unittest.SkipTest(f"needs nibabel and pandas: {error}")

COMMAND = os.environ.get("KRONORM_COMMAND", "")
if not COMMAND:
    raise unittest.SkipTest("KRONORM_COMMAND names no command")

import kronorm  # noqa: E402

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"))
from same_model import same  # noqa: E402

FIT = {"components": 3, "folds": 4, "threads": 1}
FLAGS = ["-P", "3", "--folds", "4", "--threads", "1"]
SURFACES = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data" / "fsaverage5_thickness"

_folder = tempfile.TemporaryDirectory()
HERE = pathlib.Path(_folder.name).resolve()
SIM, TEMP = HERE / "sim", HERE / "temp"


def command(*words: object) -> None:
    subprocess.run([COMMAND, *map(str, words)], check=True, env=environment(), stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE)


def environment() -> dict[str, str]:
    """Both programs on the core that the command would choose, so that bytes can be compared."""
    core = kronorm.build()["better_core"]
    return {**os.environ, **({"OPENBLAS_CORETYPE": core} if core else {})}


def python(code: str) -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=environment(), cwd=HERE)


def digest() -> dict[str, tuple[str, int]]:
    """Content and time of every input."""
    return {str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in sorted(SIM.rglob("*")) if path.is_file()}


def setUpModule() -> None:
    warnings.simplefilter("ignore", kronorm.KronormWarning)
    command("simulate", "--samples", 60, "--patients", 6, "--threads", 1, "-o", SIM)
    for part in ("train", "test"):
        people = pd.read_csv(SIM / f"{part}_participants.tsv", sep="\t")
        lines = [f"{who}\timages/{who}.nii.gz\n" for who in people.participant_id]
        (SIM / f"{part}_ordered.txt").write_text("".join(lines))
    TEMP.mkdir()
    tempfile.tempdir = str(TEMP)
    command("fit", "-c", SIM / "train_participants.tsv", "-y", SIM / "train_ordered.txt", "-m", SIM / "mask.nii.gz", *FLAGS,
            "-o", HERE / "command.safetensors")
    command("score", HERE / "command.safetensors", "-c", SIM / "test_participants.tsv", "-y", SIM / "test_ordered.txt",
            "--threads", 1, "-o", HERE / "scored")


def tearDownModule() -> None:
    tempfile.tempdir = None
    _folder.cleanup()


def people(part: str) -> pd.DataFrame:
    return pd.read_csv(SIM / f"{part}_participants.tsv", sep="\t", float_precision="round_trip")


def paths(part: str) -> list[str]:
    return [str(SIM / "images" / f"{who}.nii.gz") for who in people(part).participant_id]


def in_memory(path: str) -> nib.Nifti1Image:
    image = nib.load(path)
    return nib.Nifti1Image(np.asanyarray(image.dataobj), image.affine, image.header)


class Masker:
    """With the manners of nilearn's: it is fitted first, takes paths and images, and gives back images."""

    def __init__(self, mask: object) -> None:
        self.mask = mask

    def fit(self) -> Masker:
        self.mask_img_ = nib.load(str(self.mask))
        self.inside_ = np.asanyarray(self.mask_img_.dataobj) != 0
        return self

    def _check(self) -> None:
        if not hasattr(self, "mask_img_"):
            raise ValueError("It seems that Masker has not been fitted. You must call fit() before calling transform().")

    def transform(self, images: object) -> np.ndarray:
        self._check()
        if hasattr(images, "dataobj"):
            return np.asanyarray(images.dataobj)[self.inside_].T
        each = [nib.load(one) if isinstance(one, (str, os.PathLike)) else one for one in images]
        return np.stack([np.asanyarray(one.dataobj)[self.inside_] for one in each])

    def inverse_transform(self, values: np.ndarray) -> nib.Nifti1Image:
        self._check()
        full = np.zeros(self.inside_.shape + values.shape[:-1], dtype=np.float32)
        full[self.inside_] = values.T
        return nib.Nifti1Image(full, self.mask_img_.affine)


class Case(unittest.TestCase):
    """Inputs stay as they are, and nothing is left in the temporary folder, whatever a test does."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.before = digest()
        cls.model = kronorm.load(HERE / "command.safetensors")
        cls.z = cls.model.zscore(people("test"), paths("test"))

    def setUp(self) -> None:
        warnings.simplefilter("ignore", kronorm.KronormWarning)
        warnings.filterwarnings("ignore", category=ResourceWarning, module="nibabel")  # it leaves .mgh open

    def tearDown(self) -> None:
        self.assertEqual(sorted(os.listdir(TEMP)), [])
        self.assertEqual(digest(), self.before)


class Bytes(Case):
    def test_paths_give_the_model_of_the_command(self) -> None:
        python(f"""
import kronorm, pandas
for k, (X, Y) in enumerate([({str(SIM / 'train_participants.tsv')!r}, {str(SIM / 'train_ordered.txt')!r}),
                            (pandas.read_csv({str(SIM / 'train_participants.tsv')!r}, sep="\\t", float_precision="round_trip"),
                             {paths("train")!r})]):
    model = kronorm.fit_images(X, Y, {str(SIM / 'mask.nii.gz')!r}, **{FIT!r})
    model.save(f"python{{k}}.safetensors")
people, images = {str(SIM / 'test_participants.tsv')!r}, {str(SIM / 'test_ordered.txt')!r}
model.write_scores("written", people, images)
for step in ({{"part": "2/2"}}, {{"part": "1/2"}}, {{"join": 2}}):
    model.write_scores("joined", people, images, **step)
""")
        command("fit", "-c", SIM / "train_participants.tsv", "-y", SIM / "train_ordered.txt", "-m", SIM / "mask.nii.gz", *FLAGS,
                "--use", "all", "-o", HERE / "command_all.safetensors")
        for k, name in enumerate(("command", "command_all")):  # all columns of a DataFrame are used
            self.assertTrue(same(HERE / f"python{k}.safetensors", HERE / f"{name}.safetensors"))
        names = sorted(os.listdir(HERE / "scored"))
        for folder in ("written", "joined"):
            self.assertEqual(sorted(os.listdir(HERE / folder)), names)
            for name in names:
                if name != "summary.json":  # it has the command's line
                    self.assertEqual((HERE / folder / name).read_bytes(), (HERE / "scored" / name).read_bytes(), name)

    def test_a_pattern_and_the_default_mask(self) -> None:
        for who in people("train").participant_id:
            os.makedirs(HERE / "pattern", exist_ok=True)
            shutil.copy(SIM / "images" / f"{who}.nii.gz", HERE / "pattern")
        python(f"""
import kronorm
kronorm.fit_images({str(SIM / 'train_participants.tsv')!r}, "pattern/*.nii.gz", **{FIT!r}).save("pattern.safetensors")
""")
        command("fit", "-c", SIM / "train_participants.tsv", "-y", f"{HERE}/pattern/*.nii.gz", *FLAGS, "-o",
                HERE / "pattern_command.safetensors")
        self.assertTrue(same(HERE / "pattern.safetensors", HERE / "pattern_command.safetensors"))


class Kinds(Case):
    """The same people, whatever their images are."""

    def same(self, X: object, Y: object) -> None:
        np.testing.assert_array_equal(self.model.zscore(X, Y), self.z)

    def test_files_of_people(self) -> None:
        self.same(SIM / "test_participants.tsv", str(SIM / "test_ordered.txt"))
        self.same(str(SIM / "test_participants.tsv"), SIM / "test_images.txt")  # a list in another order
        self.same(people("test"), SIM / "test_images.txt")

    def test_images_of_nibabel(self) -> None:
        self.same(people("test"), [nib.load(path) for path in paths("test")])
        self.same(people("test"), [in_memory(path) for path in paths("test")])
        self.same(people("test"), pd.Series(paths("test")))
        self.same(people("test"), tuple(map(pathlib.Path, paths("test"))))
        self.same(SIM / "test_participants.tsv", [in_memory(path) for path in paths("test")])

    def test_one_image_of_all(self) -> None:
        each = [nib.load(path) for path in paths("test")]
        whole = nib.Nifti1Image(np.stack([np.asanyarray(one.dataobj) for one in each], -1), each[0].affine)
        self.same(people("test"), whole)
        nib.save(whole, HERE / "whole.nii")
        self.same(people("test"), HERE / "whole.nii")
        self.same(people("test"), nib.load(HERE / "whole.nii"))
        alone = self.model.zscore(people("test")[:1], each[0])
        np.testing.assert_array_equal(alone, self.z[:1])

    def test_no_nibabel_image_that_is_a_file_is_copied(self) -> None:
        from kronorm import _image_files
        saved, _image_files.save = _image_files.save, None
        self.addCleanup(setattr, _image_files, "save", saved)
        self.same(people("test"), [nib.load(path) for path in paths("test")])

    def test_images_are_not_held_here(self) -> None:
        """A fit of paths, or of images that were not read yet, makes no copy of them in Python."""
        volumes = [nib.load(path) for path in paths("train")]
        whole = len(volumes) * int(np.prod(volumes[0].shape)) * 4
        for Y in (paths("train"), volumes):
            tracemalloc.start()
            try:
                kronorm.fit_images(people("train"), Y, SIM / "mask.nii.gz", components=2, folds=0)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            self.assertLess(peak, whole / 4)
        self.assertFalse(any(image.in_memory for image in volumes))

    def test_covariates_without_ids_and_without_names(self) -> None:
        X = people("train")[["age", "sex", "site"]]
        coded = np.column_stack([X.age, X.sex == "F", X.site.astype("category").cat.codes])
        model = kronorm.fit_images(coded, paths("train"), SIM / "mask.nii.gz", categorical=[1, 2], folds=0, components=2)
        self.assertFalse(model.info_["has_ids"])
        again = kronorm.NormativeModel(categorical=[1, 2], folds=0, components=2)
        values = np.stack([self.voxels(path) for path in paths("train")])
        again.fit(coded, values)
        np.testing.assert_allclose(model.zscore(coded, paths("train")), again.zscore(coded, values), atol=1e-4)

    def voxels(self, path: str) -> np.ndarray:
        inside = np.asanyarray(nib.load(SIM / "mask.nii.gz").dataobj).ravel(order="F") != 0
        return np.asanyarray(nib.load(path).dataobj).ravel(order="F")[inside]

    def test_levels_that_look_like_numbers_stay_levels(self) -> None:
        X = people("train")
        X["site"] = X.site.str[-1]  # "1", "2", "3"
        model = kronorm.fit_images(X, paths("train"), SIM / "mask.nii.gz", components=2, folds=0)
        kinds = {column["name"]: column["kind"] for column in model.info_["recipe"]["columns"]}
        by_array = kronorm.NormativeModel(components=2, folds=0).fit(X, np.stack(list(map(self.voxels, paths("train")))))
        self.assertEqual(kinds, {column["name"]: column["kind"] for column in by_array.info_["recipe"]["columns"]})
        np.testing.assert_allclose(model.zscore(X, paths("train")),
                                   by_array.zscore(X, np.stack(list(map(self.voxels, paths("train"))))), atol=1e-4)

    def test_what_was_changed_in_memory_counts(self) -> None:
        each = [nib.load(path) for path in paths("test")]
        each[0].get_fdata()[:] += 1  # the array that get_fdata keeps
        each[1] = nib.Nifti1Image(np.asanyarray(each[1].dataobj) + 1, each[1].affine, each[1].header)
        whole = nib.Nifti1Image(np.arange(9600, dtype=float).reshape(20, 24, 20) / 7, each[2].affine, each[2].header)
        whole.header.set_data_dtype(np.int16)  # in which numbers would be rounded
        each[2] = whole
        z = self.model.zscore(people("test"), each)
        inside = np.asanyarray(nib.load(SIM / "mask.nii.gz").dataobj) != 0
        values = np.stack([one.get_fdata()[inside].astype(np.float32) for one in each])
        plain = self.model.zscore(people("test"), [nib.Nifti1Image(self.volume(inside, row), each[0].affine) for row in values])
        np.testing.assert_array_equal(z, plain)
        np.testing.assert_array_equal(z[3:], self.z[3:])
        self.assertTrue(all(np.abs(z[i] - self.z[i]).max() > 1e-3 for i in range(3)))

    @staticmethod
    def volume(inside: np.ndarray, row: np.ndarray) -> np.ndarray:
        out = np.zeros(inside.shape, dtype=np.float32)
        out[inside] = row
        return out


class Rows(Case):
    """An image belongs to its person."""

    def test_by_id_in_any_order(self) -> None:
        X = people("test")
        backwards = paths("test")[::-1]
        np.testing.assert_array_equal(self.model.zscore(X, backwards), self.z)  # sub-XXX in every path
        by_id = {who: in_memory(path) for who, path in zip(X.participant_id[::-1], backwards)}
        np.testing.assert_array_equal(self.model.zscore(X, by_id), self.z)
        np.testing.assert_array_equal(self.model.zscore(X.set_index("participant_id"), by_id), self.z)
        np.testing.assert_array_equal(self.model.zscore(SIM / "test_participants.tsv", by_id), self.z)
        series = pd.Series(backwards, index=X.participant_id[::-1])
        np.testing.assert_array_equal(self.model.zscore(X, series.rename(index=str)), self.z)

    def test_images_of_others_are_left_alone(self) -> None:
        some = people("test")[::-3]
        z = self.z[::-3]
        by_id = dict(zip(people("test").participant_id, paths("test")))
        for images in (str(SIM / "images" / "*.nii.gz"), str(SIM / "test_images.txt"), by_id):
            np.testing.assert_array_equal(self.model.zscore(some, images), z)
            lacking = some.assign(participant_id=["sub-x", *some.participant_id[1:]])
            with self.assertRaisesRegex(ValueError, r"^X: 1 ID is not in .*: sub-x"):
                self.model.zscore(lacking, images)
        some.to_csv(HERE / "some.tsv", sep="\t", index=False)
        np.testing.assert_array_equal(self.model.zscore(HERE / "some.tsv", by_id), z)

    def test_by_order_without_labels(self) -> None:
        folder = HERE / "plain"
        folder.mkdir()
        plain = [shutil.copy(path, folder / f"{i} of all.nii.gz") for i, path in enumerate(paths("test"))]
        np.testing.assert_array_equal(self.model.zscore(people("test"), plain), self.z)
        np.testing.assert_array_equal(self.model.zscore(people("test").iloc[::-1], plain[::-1]), self.z[::-1])

    def test_ids_that_repeat(self) -> None:
        """Rows of one person go by order, although every path has a label."""
        X = people("test")
        X["participant_id"] = [f"sub-{i // 2}" for i in range(len(X))]
        np.testing.assert_array_equal(self.model.zscore(X, paths("test")), self.z)
        visits = HERE / "visits"
        visits.mkdir()
        twice = [shutil.copy(path, visits / f"sub-{i // 2}_ses-{i % 2}.nii.gz") for i, path in enumerate(paths("test"))]
        np.testing.assert_array_equal(self.model.zscore(X, twice), self.z)

    def test_labels_of_the_temporary_folder_are_nobodys(self) -> None:
        folder = HERE / "sub-99"
        folder.mkdir()
        self.addCleanup(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = str(folder)
        images = [in_memory(path) for path in paths("test")]
        np.testing.assert_array_equal(self.model.zscore(SIM / "test_participants.tsv", images), self.z)
        self.assertEqual(os.listdir(folder), [])

    def test_sessions_by_their_labels(self) -> None:
        X = people("test")
        X["participant_id"] = [f"sub-{i // 2}_ses-{i % 2}" for i in range(len(X))]
        folder = HERE / "sessions"
        folder.mkdir()
        each = [shutil.copy(path, folder / f"sub-{i // 2}_ses-{i % 2}_T1.nii.gz") for i, path in enumerate(paths("test"))]
        np.testing.assert_array_equal(self.model.zscore(X, each[::-1]), self.z)

    def test_who_lacks_a_covariate_has_no_z(self) -> None:
        X = people("test")
        X.loc[2, "age"] = np.nan
        model = kronorm.load(HERE / "command.safetensors").set_params(missing="drop")
        z = model.zscore(X, paths("test")[::-1])
        self.assertTrue(np.isnan(z[2]).all())
        np.testing.assert_array_equal(np.delete(z, 2, 0), np.delete(self.z, 2, 0))


class Space(Case):
    def test_z_images_are_those_of_the_command(self) -> None:
        theirs = nib.load(HERE / "scored" / "z.nii.gz")
        values = np.asanyarray(theirs.dataobj)
        ours = self.model.to_images(self.z, outside=0)
        self.assertEqual(len(ours), values.shape[3])
        for i, image in enumerate(ours):
            np.testing.assert_array_equal(np.asanyarray(image.dataobj), values[..., i])
            np.testing.assert_array_equal(image.affine, theirs.affine)
            self.assertEqual(image.header.get_zooms(), theirs.header.get_zooms()[:3])
            self.assertEqual(image.header.get_xyzt_units()[0], theirs.header.get_xyzt_units()[0])
            self.assertEqual(image.get_data_dtype(), theirs.get_data_dtype())
        one = self.model.to_images(self.z[0])
        self.assertEqual(one.shape, theirs.shape[:3])
        inside = np.asanyarray(nib.load(SIM / "mask.nii.gz").dataobj) != 0
        np.testing.assert_array_equal(np.isfinite(np.asanyarray(one.dataobj)), inside)

    def test_a_masker(self) -> None:
        masker = Masker(SIM / "mask.nii.gz").fit()
        model = kronorm.fit_images(people("train"), paths("train"), masker, **FIT)
        self.assertIs(model.masker_, masker)
        self.assertRaisesRegex(ValueError, "different ids: 1 of 47", model.zscore, people("train"), paths("train")[1:])
        images = [nib.load(path) for path in paths("test")]
        whole = nib.Nifti1Image(np.stack([np.asanyarray(one.dataobj) for one in images], -1), images[0].affine)
        by_id = dict(zip(people("test").participant_id[::-1], images[::-1]))
        first = model.zscore(people("test"), paths("test"))
        for Y in (images, whole, by_id, paths("test")[::-1], masker.transform(images)):
            np.testing.assert_array_equal(model.zscore(people("test"), Y), first)
        wanted = self.model.to_images(self.z, outside=0)
        for mine, theirs in zip(model.to_images(first), wanted):
            np.testing.assert_allclose(mine.get_fdata(), theirs.get_fdata(), atol=2e-3)
        self.assertEqual(model.to_images(first[0]).shape, wanted[0].shape)
        back = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(back.zscore(people("test"), images), first)
        self.assertTrue(np.isfinite(model.score(people("test"), images)))
        model.fit(people("train"), masker.transform(paths("train")))
        self.assertFalse(hasattr(model, "masker_"))

    def test_a_folder_of_maps(self) -> None:
        folder = HERE / "maps"
        summary = self.model.write_scores(folder, people("test"), paths("test"), write=("z", "fdr"), split=True,
                                          cases="group=patient")
        self.assertIn("AUC", summary)
        self.assertEqual(summary["AUC"], json.loads((folder / "summary.json").read_text())["AUC"])
        who = people("test").participant_id[0]
        image = nib.load(folder / f"{who}_z.nii.gz")
        np.testing.assert_array_equal(np.asanyarray(image.dataobj), np.asanyarray(self.model.to_images(self.z[0], outside=0).dataobj))
        self.assertTrue((folder / f"{who}_fdr.nii.gz").exists())
        with self.assertRaisesRegex(kronorm.KronormError, "maps"):
            self.model.write_scores(folder, people("test"), paths("test"))

    def test_held_out_within_a_mask(self) -> None:
        model = kronorm.NormativeModel(**FIT)
        by_mask = model.cv(people("train"), paths("train"), folds=3, mask=SIM / "mask.nii.gz")
        by_masker = model.cv(people("train"), paths("train"), folds=3, mask=Masker(SIM / "mask.nii.gz").fit())
        self.assertEqual(by_mask.z.shape, (len(people("train")), self.model.n_outputs_))
        self.assertGreater(model.cv(people("train"), paths("train"), folds=3).z.shape[1], 0)
        order = np.flatnonzero(np.asanyarray(nib.load(SIM / "mask.nii.gz").dataobj).ravel(order="F"))
        place = np.flatnonzero(np.asanyarray(nib.load(SIM / "mask.nii.gz").dataobj).ravel(order="C"))
        shape = nib.load(SIM / "mask.nii.gz").shape
        same = [list(place).index(np.ravel_multi_index(np.unravel_index(v, shape, order="F"), shape)) for v in order]
        np.testing.assert_allclose(by_masker.z[:, same], by_mask.z, atol=1e-3)

    def test_curves_are_maps(self) -> None:
        with self.assertRaisesRegex(ValueError, "maps: name a folder.*folder="):
            self.model.centiles("age")
        out, at = HERE / "curves", {"sex": "F", "site": people("train")["site"].iloc[0]}
        volumes = self.model.centiles("age", at=at, grid=3, centiles=(5, 50), folder=out)
        self.assertEqual(list(volumes["volume"]), [0, 1, 2])
        middle = nib.load(out / "centile_50.nii.gz")
        self.assertEqual(middle.shape[3], 3)
        X = pd.DataFrame({"age": volumes["age"], **at})
        expected = np.stack([image.get_fdata() for image in self.model.to_images(self.model.predict(X), outside=0.0)], axis=3)
        np.testing.assert_allclose(middle.get_fdata(), expected, atol=0.05 * np.abs(expected).max())
        with self.assertRaisesRegex(kronorm.FileError, "force=True"):
            self.model.centiles("age", at=at, grid=3, folder=out)
        shutil.rmtree(out)


class PeopleInFiles(Case):
    """Covariates by the path of a table go wherever a DataFrame goes."""

    def test_with_responses_in_memory(self) -> None:
        X = people("train")
        Y = np.random.default_rng(2).normal(size=(48, 6)) + X[["age"]].to_numpy() / 20
        of_frame = kronorm.NormativeModel(components=2, folds=4).fit(X, Y)
        path = HERE / "people.csv"
        text = X.to_csv(sep=";", index=False, lineterminator="\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.replace(";M;", ';"M";').encode() + b"\r\n")
        of_file = kronorm.NormativeModel(components=2, folds=4).fit(path, Y)
        self.assertEqual(list(of_file.feature_names_in_), list(of_frame.feature_names_in_))
        np.testing.assert_array_equal(of_file.zscore(path, Y), of_frame.zscore(X, Y))
        np.testing.assert_array_equal(of_file.predict(path), of_frame.predict(X))
        np.testing.assert_array_equal(of_file.predict(str(path)), of_file.predict(X))

    def test_cells_as_the_library_reads_them(self) -> None:
        from kronorm._read_table import read_columns
        path = HERE / "cells.tsv"
        path.write_text("participant_id\tage\tdose\tsex\t\n01\t1e1\tn/a\tF\tx\n\n002\t .5 \tNA\tn/a\t\n")
        found = read_columns(path, lambda name: name == "participant_id")
        self.assertEqual({name: list(column) for name, column in found.items() if name != "dose"},
                         {"participant_id": ["01", "002"], "age": [10.0, 0.5], "sex": ["F", None]})
        self.assertTrue(np.isnan(found["dose"]).all())
        path.write_text("age\n0x10\n")
        self.assertEqual(list(read_columns(path)["age"]), ["0x10"])

    def test_tables_that_are_none(self) -> None:
        for name, text, kind, sentence in (("a.txt", "age\n1\n", ValueError, "expected a table named .csv or .tsv"),
                                           ("a.csv", "age,sex\n1\n", ValueError, "1 fields, expected 2"),
                                           ("b.csv", "age\n", ValueError, "no rows"), ("c.csv", "", ValueError, "empty"),
                                           ("d.csv", None, OSError, "d.csv")):
            path = HERE / "tables" / name
            path.parent.mkdir(exist_ok=True)
            if text is not None:
                path.write_text(text)
            with self.subTest(name), self.assertRaisesRegex(kind, sentence):
                self.model.predict(path)


class Work(Case):
    def test_an_interrupt_leaves_nothing_behind(self) -> None:
        def interrupted(stage: str, done: int, total: int, lml: float) -> None:
            raise KeyboardInterrupt

        images = [in_memory(path) for path in paths("train")]
        with self.assertRaises(KeyboardInterrupt):
            kronorm.fit_images(people("train"), images, SIM / "mask.nii.gz", progress=interrupted, **FIT)
        self.assertEqual(os.listdir(TEMP), [])
        self.assertEqual(kronorm.fit_images(people("train"), images, SIM / "mask.nii.gz", components=1, folds=0).info_["n_samples"], 48)

    def test_threads_at_once(self) -> None:
        images = [in_memory(path) for path in paths("test")]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for z in pool.map(lambda _: self.model.zscore(people("test"), images), range(8)):
                np.testing.assert_array_equal(z, self.z)


class BadInput(Case):
    def refused(self, kind: type[BaseException], sentence: str, X: object, Y: object, mask: object = None) -> None:
        with self.assertRaisesRegex(kind, sentence) as caught:
            kronorm.fit_images(X, Y, mask, components=2, folds=0)
        self.assertNotIn(str(TEMP), str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_who_has_no_image(self) -> None:
        X, Y = people("train"), paths("train")
        self.refused(ValueError, r"^X: 1 ID is not in images: sub-\d+; omit the IDs", X, Y[:-1])
        self.refused(ValueError, r"^images: 1 ID is not in X: sub-\d+", X[:-1], Y)
        self.refused(ValueError, r"^X has 48 rows, but images has 47; ", X, [in_memory(path) for path in Y[:-1]])
        whole = nib.Nifti1Image(np.stack([np.asanyarray(nib.load(path).dataobj) for path in Y[1:]], -1), np.eye(4))
        self.refused(ValueError, r"^X has 48 rows, but images has 47; ", X, whole)
        self.refused(ValueError, "X has no ids", X[["age"]].to_numpy(), dict(zip(X.participant_id, Y)))
        self.refused(ValueError, "no IDs in common", X.assign(participant_id=[f"p{i}" for i in range(len(X))]), Y)
        self.refused(ValueError, "^X: 1 ID is not in images: ", X, {**dict(zip(X.participant_id[1:], Y[1:])), "nobody": Y[0]})

    def test_images_that_differ(self) -> None:
        X = people("train")
        each = [in_memory(path) for path in paths("train")]
        odd = each[5]
        for other, sentence in (
                (nib.Nifti1Image(odd.get_fdata()[:-1], odd.affine), r"^images\[5\].*19"),
                (nib.Nifti1Image(odd.get_fdata(), odd.affine + np.eye(4)[3] * [0, 0, 0, 1] + np.diag([0.1, 0, 0, 0])),
                 r"^images\[5\].*affine"),
                (nib.Nifti1Image(np.stack([odd.get_fdata()] * 2, -1), odd.affine), r"^images\[5\] has 2 volumes"),
                (nib.Nifti1Image(odd.get_fdata().astype(np.complex64), odd.affine), r"^images\[5\].*complex64")):
            with self.subTest(sentence):
                self.refused(ValueError, sentence, X, each[:5] + [other] + each[6:])
        by_id = dict(zip(X.participant_id[::-1], (each[:5] + [nib.Nifti1Image(odd.get_fdata()[:-1], odd.affine)] + each[6:])[::-1]))
        self.refused(ValueError, rf"^images\['{X.participant_id[5]}'\].*19", X, by_id)
        nib.save(by_id[X.participant_id[5]], HERE / f"{X.participant_id[5]}.nii")
        backwards = paths("train")[::-1]
        backwards[42] = str(HERE / f"{X.participant_id[5]}.nii")
        self.refused(ValueError, r"^images\[42\].*19", X, backwards)
        moved = nib.Nifti1Image(np.ones(odd.shape, np.uint8), odd.affine + np.diag([1, 0, 0, 0]))
        self.refused(ValueError, "the mask: .*affine", X, paths("train"), moved)
        empty = nib.Nifti1Image(np.zeros(odd.shape, np.uint8), odd.affine)
        self.refused(ValueError, "the mask: the mask is empty", X, paths("train"), empty)

    def test_files_that_are_not_there(self) -> None:
        X, Y = people("train"), paths("train")
        self.refused(OSError, r"images\[3\]: .*sub-none", X.assign(participant_id=range(48)).drop(columns="participant_id"),
                     Y[:3] + ["/nowhere/sub-none.nii.gz"] + Y[4:])
        self.refused(OSError, "nowhere.tsv", HERE / "nowhere.tsv", Y)
        self.refused(OSError, "none.txt", X, HERE / "none.txt")
        self.refused(OSError, "no file (matches|has such a name)", X, f"{HERE}/none/*.nii.gz")
        self.refused(OSError, "none.nii", X, Y, HERE / "none.nii")
        (HERE / "text.nii").write_text("not an image")
        self.refused(ValueError, "text.nii", X, HERE / "text.nii")

    def test_what_is_no_image(self) -> None:
        X = people("train")
        for Y in (np.zeros((48, 5)), 7, None, [], [1, 2], ["a.nii", 3], {}):
            with self.subTest(repr(Y)[:20]), self.assertRaisesRegex(ValueError, "expected"):
                kronorm.fit_images(X, Y)
        self.refused(ValueError, "the mask: of type ndarray, expected", X, paths("train"), np.ones((20, 24, 20)))
        with self.assertRaisesRegex(ValueError, "has not been fitted"):
            kronorm.fit_images(X, paths("train"), Masker(SIM / "mask.nii.gz"))
        with self.assertRaisesRegex(ValueError, "not fitted to images"):
            kronorm.NormativeModel(components=1, folds=0).fit(X[["age"]], np.random.default_rng(1).normal(size=(48, 4))).to_images(
                np.zeros(4))
        for values in (np.zeros(5), np.zeros((2, 5)), np.zeros((1, 1, self.z.shape[1])), np.array(["a"])):
            with self.subTest(values.shape), self.assertRaisesRegex(ValueError, "expected"):
                self.model.to_images(values)
        with self.assertRaisesRegex(ValueError, "score_responses"):
            self.model.score(people("test"), paths("test"))

    def test_a_path_that_a_list_cannot_hold(self) -> None:
        self.refused(ValueError, r"images\[0\]: .* is not allowed in a list", people("train"), ["a\tb.nii", *paths("train")[1:]])

    def test_without_nibabel(self) -> None:
        """Paths need none; what does says so."""
        python(f"""
import sys
sys.modules["nibabel"] = None
import kronorm
model = kronorm.load("command.safetensors")
z = model.zscore({str(SIM / 'test_participants.tsv')!r}, {paths("test")!r})
try:
    model.to_images(z)
except ImportError as error:
    assert "nibabel" in str(error), error
else:
    raise SystemExit("to_images made images of nothing")
""")


class Surfaces(Case):
    """Vertices, of one file a person or of two."""

    options = {"components": 2, "folds": 0}

    def setUp(self) -> None:
        super().setUp()
        numbers = np.random.default_rng(3)
        self.n, self.sizes = 40, {"lh": 30, "rh": 25}
        self.X = pd.DataFrame({"age": numbers.uniform(20, 80, self.n).round(1)})
        trend = numbers.normal(size=(self.n, 3)) @ numbers.normal(size=(3, 55)) + numbers.normal(size=(self.n, 55)) / 2
        both = (trend + np.outer(self.X.age / 20, numbers.normal(size=55))).astype(np.float32)
        self.values = {"lh": both[:, :30], "rh": both[:, 30:]}
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=HERE))

    def files(self, ending: str, side: str) -> list[str]:
        out = []
        for i, row in enumerate(self.values[side]):
            path = self.folder / f"{side}.{i:02d}{ending}"
            if ending == ".mgh":
                nib.save(nib.MGHImage(row.reshape(-1, 1, 1), np.eye(4)), path)
            else:
                nib.save(self.gifti(row), path)
            out.append(str(path))
        return out

    @staticmethod
    def gifti(row: np.ndarray) -> nib.GiftiImage:
        array = nib.gifti.GiftiDataArray(row, intent="NIFTI_INTENT_SHAPE", datatype="NIFTI_TYPE_FLOAT32")
        return nib.gifti.GiftiImage(darrays=[array])

    def test_one_hemisphere(self) -> None:
        files = self.files(".func.gii", "lh")
        model = kronorm.fit_images(self.X, files, **self.options)
        z = model.zscore(self.X, files)
        again = kronorm.NormativeModel(**self.options).fit(self.X, self.values["lh"])
        np.testing.assert_allclose(z, again.zscore(self.X, self.values["lh"]), atol=1e-4)
        written = list(map(self.gifti, self.values["lh"]))
        for image in written:
            image.darrays[0].encoding = 1  # as text, in which numbers would be rounded
        for Y in (list(map(nib.load, files)), written, list(map(self.gifti, self.values["lh"])), self.files(".mgh", "lh"),
                  list(map(nib.load, self.files(".mgh", "lh"))),
                  [nib.MGHImage(row.reshape(-1, 1, 1), np.eye(4)) for row in self.values["lh"]]):
            np.testing.assert_array_equal(model.zscore(self.X, Y), z)
        np.testing.assert_array_equal(model.to_images(z)[3].darrays[0].data, z[3])

    def test_two_hemispheres(self) -> None:
        pairs = list(zip(self.files(".func.gii", "lh"), self.files(".func.gii", "rh")))
        model = kronorm.fit_images(self.X, pairs, **self.options)
        z = model.zscore(self.X, pairs)
        self.assertEqual(z.shape, (self.n, 55))
        read = [tuple(map(nib.load, pair)) for pair in pairs]
        np.testing.assert_array_equal(model.zscore(self.X, read), z)
        for side in ("lh", "rh"):
            arrays = [self.gifti(row).darrays[0] for row in self.values[side]]
            nib.save(nib.gifti.GiftiImage(darrays=arrays), self.folder / f"{side}.all.gii")
        np.testing.assert_array_equal(model.zscore(self.X, f"{self.folder}/lh.all.gii,{self.folder}/rh.all.gii"), z)
        left, right = model.to_images(z)[7]
        np.testing.assert_array_equal(np.concatenate([left.darrays[0].data, right.darrays[0].data]), z[7])
        self.assertEqual(len(left.darrays[0].data), 30)
        with self.assertRaisesRegex(ValueError, "two|rh"):
            model.zscore(self.X, [pair[0] for pair in pairs])

    def test_grayordinates(self) -> None:
        axis = nib.cifti2.BrainModelAxis.from_surface(np.arange(25), 30, name="CortexLeft")
        each = [nib.Cifti2Image(row[None, :25].astype(np.float32), (nib.cifti2.ScalarAxis(["thickness"]), axis))
                for row in self.values["lh"]]
        files = []
        for i, image in enumerate(each):
            files.append(str(self.folder / f"{i}.dscalar.nii"))
            nib.save(image, files[-1])
        model = kronorm.fit_images(self.X, files, **self.options)
        z = model.zscore(self.X, files)
        np.testing.assert_array_equal(model.zscore(self.X, each), z)
        np.testing.assert_array_equal(model.zscore(self.X, list(map(nib.load, files))), z)
        again = kronorm.NormativeModel(**self.options).fit(self.X, self.values["lh"][:, :25])
        np.testing.assert_allclose(z, again.zscore(self.X, self.values["lh"][:, :25]), atol=1e-4)

    @unittest.skipUnless(SURFACES.exists(), "fsaverage5_thickness is not there")
    def test_fsaverage5(self) -> None:
        X = pd.read_csv(SURFACES / "participants.csv")[["age"]]
        files = [SURFACES / f"{side}.thickness.fsaverage5.nii.gz" for side in ("lh", "rh")]
        model = kronorm.fit_images(X, ",".join(map(str, files)), **self.options)
        z = model.zscore(X, ",".join(map(str, files)))
        self.assertEqual(z.shape, (len(X), model.info_["n_responses"]))
        left, right = model.to_images(z[0])
        self.assertEqual([len(left.darrays[0].data), len(right.darrays[0].data)], [nib.load(f).shape[0] for f in files])


if __name__ == "__main__":
    unittest.main()
