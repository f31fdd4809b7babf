"""The loader of the visual experiment against nibabel and numpy, on a folder that this script
writes itself: sizes unlike those of the public data set, every number type, runs of several
lengths."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import nibabel as nib
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

program = sys.argv[1]
checks = 0
SHAPE, PIXELS = (7, 6, 5), 9
RUNS = {"random": [23, 31, 26], "figure": [29, 19]}
TYPES = [np.float64, np.float32, np.int16, np.float64, np.float32]


def check(condition, *what):
    global checks
    checks += 1
    if not condition:
        sys.exit("failed: " + " ".join(str(w) for w in what))


def labels_of(rng, scans):
    """Rest, then patterns of two or three scans with rest between some of them."""
    rows = np.full((scans, PIXELS), -1)
    t = 2
    while t < scans:
        shown = rng.integers(2, 4)
        rows[t:t + shown] = rng.integers(0, 2, PIXELS)
        t += shown + rng.integers(0, 3)
    return rows


def write(root, seed=1):
    """The folder; what is in it, as arrays."""
    rng = np.random.default_rng(seed)
    affine = np.array([[-3, 0, 0, 10], [0, 3, 0.1, -20], [0, -0.1, 3, 5], [0, 0, 0, 1.0]])
    for folder in ("func", "label", "mask"):
        os.makedirs(f"{root}/{folder}")
    mask = rng.random(SHAPE) < 0.3
    nib.save(nib.Nifti1Image(mask.astype(np.int64), affine, dtype=np.int64),
             f"{root}/mask/mask.nii.gz")
    runs, types = [], iter(TYPES)
    for kind, lengths in RUNS.items():
        for i, scans in enumerate(lengths, 1):
            kept = next(types)
            values = 500 + 40 * rng.standard_normal((*SHAPE, scans)) + 3 * np.arange(scans)
            values = np.round(values * 8) / 8 * mask[..., None]  # exact in float32
            values = np.round(values) if kept == np.int16 else values
            rows = labels_of(rng, scans)
            nib.save(nib.Nifti1Image(values.astype(kept), affine),
                     f"{root}/func/data_{kind}_run{i:02}.nii.gz")
            np.savetxt(f"{root}/label/data_{kind}_run{i:02}_label.csv", rows, "%d", ",")
            runs.append((kind, values, rows))
    return mask, runs


def prepared(mask, runs):
    """The usual preparation, in numpy: voxels in C order of the mask."""
    X, Y, n_random = [], [], 0
    for kind, values, rows in runs:
        y = values[mask].T
        line = np.c_[np.ones(len(y)), np.arange(len(y))]
        y = (y - line @ np.linalg.lstsq(line, y, rcond=None)[0])[2:]
        rows = rows[:-2]
        on = rows[:, 0] != -1
        X.append(rows[on])
        Y.append(y[on])
        n_random += on.sum() if kind == "random" else 0
    return np.vstack(X), np.vstack(Y), n_random


def load(root, out):
    return subprocess.run([program, root, f"{out}/X.npy", f"{out}/Y.npy"], capture_output=True,
                          text=True)


def identical(folder):
    root = f"{folder}/visual"
    mask, runs = write(root)
    X, Y, n_random = prepared(mask, runs)
    answer = load(root, folder)
    check(answer.returncode == 0, answer.stderr)
    told = json.loads(answer.stdout)
    check(told["runs"] == [3, 2] and told["n"] == len(X) and told["n_random"] == n_random, told)
    check(np.array_equal(np.load(f"{folder}/X.npy"), X), "X")
    # ours are in file order, x fastest; numpy's mask has z fastest
    place = np.ravel_multi_index(np.nonzero(mask), SHAPE, order="F")
    ours = np.load(f"{folder}/Y.npy")[:, np.argsort(np.argsort(place))]
    check(ours.shape == Y.shape and np.abs(ours - Y).max() < 1e-10 * np.abs(Y).max() + 1e-10, "Y")
    first = [int(np.flatnonzero((X == row).all(1))[0]) for row in X]
    check(told["pattern"] == first, "patterns")
    again = json.loads(load(root, folder).stdout)
    check(again["fingerprint"] == told["fingerprint"], "fingerprint")
    write(f"{folder}/other", seed=2)
    other = json.loads(load(f"{folder}/other", folder).stdout)
    check(other["fingerprint"] != told["fingerprint"], "fingerprint of other data")


def refused(folder, what, spoil, *expected):
    root = f"{folder}/spoilt"
    write(root)
    spoil(root)
    answer = load(root, folder)
    sentence = answer.stderr.replace(root + "/", "").strip()
    check(answer.returncode == 1 and "\n" not in sentence, what, answer.returncode, sentence)
    for words in expected:
        check(words in sentence, what, "said", repr(sentence), "expected", repr(words))
    shutil.rmtree(root, ignore_errors=True)


def edit(path, change):
    with open(path) as f:
        rows = f.read().splitlines()
    with open(path, "w") as f:
        f.write("\n".join(change(rows)) + "\n")


def resave(path, change):
    image = nib.load(path)
    values, affine = change(np.asarray(image.dataobj).copy(), image.affine.copy())
    os.remove(path)
    nib.save(nib.Nifti1Image(values, affine, dtype=values.dtype), path)


def moved(values, affine):
    affine[0, 3] += 1
    return values, affine


def empty(root):
    shutil.rmtree(root)
    os.mkdir(root)


def bad_inputs(folder):
    func, label, mask = "func/data_random_run02.nii.gz", "label/data_figure_run01_label.csv", \
        "mask/mask.nii.gz"
    refused(folder, "a missing run", lambda r: os.remove(f"{r}/{func}"), func, "missing",
            "01 to 03")
    refused(folder, "a missing last run", lambda r: os.remove(f"{r}/func/data_figure_run02.nii.gz"),
            "data_figure_run02.nii.gz", "missing")
    refused(folder, "missing labels", lambda r: os.remove(f"{r}/{label}"), label, "missing")
    refused(folder, "a missing mask", lambda r: os.remove(f"{r}/{mask}"), mask)
    refused(folder, "no figures", lambda r: [os.remove(f"{r}/{f}/{n}") for f in ("func", "label")
                                             for n in os.listdir(f"{r}/{f}") if "figure" in n],
            "data_figure_run01.nii.gz", "layout")
    refused(folder, "an empty folder", empty, "func/data_random_run01.nii.gz", "layout")
    refused(folder, "no folder", shutil.rmtree, "layout")
    refused(folder, "a label row too few", lambda r: edit(f"{r}/{label}", lambda x: x[:-1]), label,
            "28 rows, expected 29", "data_figure_run01.nii.gz")
    refused(folder, "a label row too many", lambda r: edit(f"{r}/{label}", lambda x: x + x[-1:]),
            "30 rows, expected 29")
    refused(folder, "fewer pixels", lambda r: edit(
        f"{r}/{label}", lambda x: [row.rsplit(",", 1)[0] for row in x]), label,
        "8 columns, expected 9")
    refused(folder, "a short row", lambda r: edit(
        f"{r}/{label}", lambda x: x[:4] + [x[4].rsplit(",", 1)[0]] + x[5:]), label, "line 5",
        "8 fields, but the first row has 9")
    refused(folder, "a word", lambda r: edit(
        f"{r}/{label}", lambda x: x[:2] + ["on" + x[2][1:]] + x[3:]), label, "line 3 column 1",
        "'on'", "but must be a number")
    refused(folder, "half a rest", lambda r: edit(f"{r}/{label}", lambda x: ["0" + x[0][2:]] + x[1:]),
            label, "line 1 column 2", "rest")
    refused(folder, "all rest", lambda r: [edit(
        f"{r}/label/data_figure_run0{i}_label.csv", lambda x: [",".join(["-1"] * PIXELS)] * len(x))
        for i in (1, 2)], "figure runs is rest")
    refused(folder, "an empty label file", lambda r: open(f"{r}/{label}", "w").close(), label,
            "empty")
    refused(folder, "a mask of other size", lambda r: resave(
        f"{r}/{mask}", lambda v, a: (v[:-1], a)), mask, "6 x 6 x 5 voxels instead of the 7 x 6 x 5")
    refused(folder, "a mask elsewhere", lambda r: resave(f"{r}/{mask}", moved), mask, "affine")
    refused(folder, "an empty mask", lambda r: resave(f"{r}/{mask}", lambda v, a: (v * 0, a)), mask,
            "empty")
    refused(folder, "a run elsewhere", lambda r: resave(f"{r}/{func}", moved), func, "affine")
    refused(folder, "a run of one scan", lambda r: resave(
        f"{r}/{func}", lambda v, a: (v[..., 0], a)), func, "1 scans")


with tempfile.TemporaryDirectory(prefix="kn-visual-") as folder:
    identical(folder)
    bad_inputs(folder)
print(f"{checks} checks")
