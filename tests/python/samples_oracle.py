"""Real files of many kinds read to the values that their table of expectations lists."""

import csv
import os
import sys

import numpy as np

from oracle import ask, check, done, path, refused

samples = os.path.join(os.environ.get("KN_SHARED", ""), "data", "format_samples")
if not os.path.exists(os.path.join(samples, "expected_volumes.csv")):
    print("skipped: no samples in", samples)
    sys.exit(77)


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

for name in ("analyze.hdr", "nifti1.hdr", "nifti2.hdr"):  # headers alone
    sentence = refused("nifti", os.path.join(samples, name), path("out"))
    check("is missing" in sentence, name, sentence)
done()
