"""Simulated data sets as nibabel and numpy read them."""

import csv
import glob
import json
import os
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


def check(condition, *what):
    global checks
    checks += 1
    if not condition:
        sys.exit("failed: " + " ".join(str(w) for w in what))


def simulate(*words):
    return json.loads(subprocess.run([program, *words], check=True, capture_output=True).stdout)


def table(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f, delimiter="\t"))


def cohort(root):
    answer = simulate("cohort", root, "small", "3", "2", "30", "10")
    affine = np.array([[-8, 0, 0, 76], [0, 8, 0, -110], [0, 0, 8, -58], [0, 0, 0, 1]])
    mask = np.asarray(nib.load(f"{root}/mask.nii.gz").dataobj) != 0
    check(mask.sum() == answer["voxels"], "voxels in the mask")
    people = {p["participant_id"]: p for p in table(f"{root}/participants.tsv")}
    check(len(people) == 40, "participants")
    check(sum(p["group"] == "patient" for p in people.values()) == 10, "patients")
    with open(f"{root}/images.txt") as f:
        images = dict(line.rstrip("\n").split("\t") for line in f)
    check(set(images) == set(people) and list(images) != list(people), "ids and their order")
    for name, path in images.items():
        image = nib.load(f"{root}/{path}")
        check(image.shape == (20, 24, 20) and image.get_data_dtype() == np.float32, name)
        check(np.array_equal(image.affine, affine), name, "affine")
        check(np.array_equal(image.get_qform(), affine), name, "qform")
        values = np.asarray(image.dataobj)
        check(np.isfinite(values).all() and ((values != 0) == mask).all(), name, "voxels")
    train, test = table(f"{root}/train_participants.tsv"), table(f"{root}/test_participants.tsv")
    check(len(train) == answer["train"] == 24 and len(test) == 16, "parts")
    check({p["participant_id"] for p in train + test} == set(people), "parts are all")
    check(all(people[p["participant_id"]]["group"] == "control" for p in train), "training")
    check({p["site"] for p in train} == set("ABC") and {p["sex"] for p in train} == set("MF"), "levels")
    lesion = np.asarray(nib.load(f"{root}/truth/lesion.nii.gz").dataobj)
    truth = json.load(open(f"{root}/truth/truth.json"))
    half = truth["lesion"]["voxels_at_half_strength_or_more"]
    check(half == answer["lesion_voxels"] and (lesion <= 0).all(), "lesion")
    check((lesion < 0).sum() > half and not lesion[~mask].any(), "lesion's place")
    strengths = [float(p["lesion_sd"]) for p in table(f"{root}/truth/patients.tsv")]
    check(len(strengths) == 10 and min(strengths) >= 1.5 and max(strengths) <= 2.5, "strengths")


def miyawaki(root):
    answer = simulate("miyawaki", root, "small", "3", "0.3")
    areas = ["V1d", "V1v", "V2d", "V2v", "V3", "V3A", "V4v", "VP"]
    mask = nib.load(f"{root}/mask/mask.nii.gz")
    check(mask.get_data_dtype() == np.int64 and mask.shape == (12, 12, 6), "mask")
    inside = np.asarray(mask.dataobj) != 0
    check(inside.sum() == answer["voxels"] == 200, "voxels in the mask")
    for names in (areas, [f"lag{i}to{i + 1}" for i in range(11)]):
        parts = [np.asarray(nib.load(f"{root}/mask/{h}{n}.nii.gz").dataobj)
                 for h in ("LH", "RH") for n in names]
        check((sum(parts) == inside).all() and all(p.any() for p in parts), names)
    check(len(glob.glob(f"{root}/mask/*")) == 39, "masks")
    check(nib.load(f"{root}/bg.nii.gz").shape == mask.shape, "background")
    stacked = {}
    for kind, runs, scans in (("random", 4, 73), ("figure", 2, 133)):
        labels = []
        for i in range(1, runs + 1):
            image = nib.load(f"{root}/func/data_{kind}_run{i:02}.nii.gz")
            check(image.shape == (12, 12, 6, scans) and image.get_data_dtype() == np.float64, kind, i)
            check(np.array_equal(image.affine, mask.affine), kind, i, "affine")
            check(image.header.get_zooms()[3] == 2, "seconds")
            values = np.asarray(image.dataobj)
            check(((values != 0) == inside[..., None]).all(), kind, i, "masked")
            rows = np.loadtxt(f"{root}/label/data_{kind}_run{i:02}_label.csv", delimiter=",")
            check(rows.shape == (scans, 100), kind, i, "labels")
            y = values[inside].T
            line = np.c_[np.ones(scans), np.arange(scans)]
            y = (y - line @ np.linalg.lstsq(line, y, rcond=None)[0])[2:]
            check((rows[-2:] == -1).all() and (rows[:2] == -1).all(), "rest at both ends")
            rows = rows[:-2]
            on = rows[:, 0] >= 0
            labels.append((rows[on], y[on], y[~on]))
        stacked[kind] = [np.vstack(x) for x in zip(*labels)]
    (x, y, rest), (xf, yf, _) = stacked["random"], stacked["figure"]
    check(len(x) == answer["random_rows"] and len(xf) == answer["figure_rows"], "rows")
    check(x.mean() == xf.mean() == 0.4, "fill")
    # two scans after a pattern the voxels answer it, and with figures the abnormality is added
    check(y.mean() > rest.mean() + 1, "response", y.mean(), rest.mean())
    effect = np.asarray(nib.load(f"{root}/truth/abnormality.nii.gz").dataobj)[inside]
    found = np.corrcoef(yf.mean(0) - y.mean(0), effect)[0, 1]
    check(found > 0.5, "abnormality", found)


with tempfile.TemporaryDirectory(prefix="kn-sim-") as folder:
    cohort(os.path.join(folder, "cohort"))
    miyawaki(os.path.join(folder, "miyawaki"))
print(f"{checks} checks")
