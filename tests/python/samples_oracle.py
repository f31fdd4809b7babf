"""Files of many kinds, each odd in its way (tests/samples/make.py), read to what nibabel found there."""

import csv
import os

import numpy as np

from oracle import ask, check, done, path, refused

samples = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "samples")


def close(ours, theirs, scale):
    return abs(ours - float(theirs)) <= 3e-7 * max(scale, 1e-30)


with open(os.path.join(samples, "expected_volumes.csv"), newline="") as f:
    for row in csv.DictReader(f):
        name = row["file"]
        a = ask("nifti", os.path.join(samples, name), path("out"))
        x = np.fromfile(path("out"), "f4").astype("f8").reshape(a["volumes"], -1)
        if a["cifti"]:  # stored with maps fastest
            x = x.T
        x = x.ravel()
        dims = [int(d) for d in row["dims"].split()]
        ours = [a["volumes"], a["dim"][0]] if a["cifti"] else a["dim"] + [a["volumes"]]
        check(ours[:len(dims)] == dims and all(d == 1 for d in ours[len(dims):]), name, ours, dims)
        check(a["dtype"] == row["dtype"], name, "type", a["dtype"])
        if row["affine_row_major"]:
            affine = [float(v) for v in row["affine_row_major"].split()]
            check(np.allclose(a["affine"], affine, rtol=1e-6, atol=1e-6), name, a["affine"], affine)
        finite = x[np.isfinite(x)]
        scale = np.abs(finite).max()
        check(np.isnan(x).sum() == int(row["n_nan"]), name, "n_nan")
        nonzero = np.count_nonzero(x)
        check(nonzero == int(row["n_nonzero"]), name, "n_nonzero", nonzero)
        check(close(finite.min(), row["min"], scale), name, "min", finite.min())
        check(close(finite.max(), row["max"], scale), name, "max", finite.max())
        check(close(finite.mean(), row["mean"], scale), name, "mean", finite.mean())
        check(close(finite.sum(), row["sum"], scale * finite.size), name, "sum", finite.sum())
        for key, at in (("first_value", 0), ("middle_value", x.size // 2)):
            theirs = float(row[key])
            check(np.isnan(x[at]) if np.isnan(theirs) else close(x[at], theirs, scale), name, key)

# What the table calls dims is what numpy's text reader found: flat for text. Their product counts.
giftis = {}
with open(os.path.join(samples, "expected_gifti.csv"), newline="") as f:
    for row in csv.DictReader(f):
        giftis.setdefault(row["file"], []).append(row)
for name, rows in giftis.items():
    arrays = ask("gifti", os.path.join(samples, name), path("out"))["arrays"]
    values = np.fromfile(path("out"), "f8")
    check(len(arrays) == len(rows), name, "arrays", len(arrays))
    for a, row in zip(arrays, rows):
        what = name, row["array"]
        n = a["dim"][0] * a["dim"][1]
        x, values = values[:n], values[n:]
        dims = [int(d) for d in row["dims"].split()]
        check(a["dim"][:a["dims"]] == dims or (row["encoding"] == "ASCII" and n == np.prod(dims)),
              *what, "dims", a["dim"])
        check(a["dtype"] == row["datatype"], *what, "type", a["dtype"])
        intent = a["intent"].replace("NIFTI_INTENT_", "").lower().replace("_", " ")
        check(intent == row["intent"], *what, "intent", a["intent"])
        scale = np.abs(x).max()
        for key, ours in (("min", x.min()), ("max", x.max()), ("mean", x.mean())):
            check(close(ours, row[key], scale), *what, key, ours, row[key])
    check(len(values) == 0, name, "values")
    if all(len(row["dims"].split()) == 1 and row["encoding"] != "ASCII" for row in rows):
        a = ask("nifti", os.path.join(samples, name), path("out"))
        x = np.fromfile(path("out"), "f4").astype("f8").reshape(a["volumes"], -1)
        check(a["dim"] == [int(rows[0]["dims"]), 1, 1] and len(x) == len(rows), name, a["dim"])
        for v, row in zip(x, rows):
            check(close(v.mean(), row["mean"], np.abs(v).max()), name, "as an image", v.mean())

for name in ("alone_analyze.hdr", "alone_nifti1.hdr", "alone_nifti2.hdr"):  # headers alone
    sentence = refused("nifti", os.path.join(samples, name), path("out"))
    check("is missing" in sentence, name, sentence)
done()
