"""What kronorm centiles writes, by scipy alone.

    centiles_oracle.py values DIR           values of centiles.tsv follow from params.tsv
    centiles_oracle.py z DIR Z PEOPLE YS    z of score follow from params.tsv and the responses
    centiles_oracle.py maps DIR             values of maps follow from params_* and summary.json
    centiles_oracle.py half STUDY           makes half.nii.gz, half of the mask, and half_images.txt,
                                            images that are 0 outside of it"""
import csv
import json
import sys

import numpy as np
from scipy import stats


def rows(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f, delimiter="\t" if path.endswith(".tsv") else ","))


def number(text):
    return float("nan") if text == "n/a" else float(text)


NOT_COVARIATES = {"response", "centile", "value", "lower", "upper", "band", "extrapolation_pct",
                  "mean", "sd", "a", "b", "loc", "sc", "nu"}


def key(row):
    return (row["response"],) + tuple(v for k, v in row.items() if k not in NOT_COVARIATES)


def params(folder):
    return {key(r): {k: number(r[k]) for k in ("mean", "sd", "a", "b", "loc", "sc", "nu")}
            for r in rows(f"{folder}/params.tsv")}


def to_student(zt, nu):
    """By the nearer tail; nu n/a: the law counts as normal."""
    t = zt if np.isnan(nu) else stats.t.isf(stats.norm.sf(abs(zt)), nu) * np.sign(zt)
    return t


def from_student(t, nu):
    return t if np.isnan(nu) else stats.norm.isf(stats.t.sf(abs(t), nu)) * np.sign(t)


def value(p, percent):
    zt = p["loc"] + p["sc"] * np.sinh((np.arcsinh(stats.norm.ppf(percent / 100)) + p["a"]) / p["b"])
    return p["mean"] + p["sd"] * to_student(zt, p["nu"])


def z(p, y):
    zt = from_student((y - p["mean"]) / p["sd"], p["nu"])
    return np.sinh(p["b"] * np.arcsinh((zt - p["loc"]) / p["sc"]) - p["a"])


def check_values(folder):
    known = params(folder)
    table = rows(f"{folder}/centiles.tsv")
    for r in table:
        expected = value(known[key(r)], number(r["centile"]))
        got, sd = number(r["value"]), known[key(r)]["sd"]
        assert abs(got - expected) <= 1e-8 * sd + 1e-9 * abs(expected), (r, expected)  # ten digits
        if r["band"] != "none":
            assert number(r["lower"]) < got < number(r["upper"]), r
    print(len(table))


def check_z(folder, z_path, people_path, y_path):
    """People at the very covariates of the curves: all columns of the table of people but the id."""
    known = params(folder)
    people = {r["participant_id"]: r for r in rows(people_path)}
    ys = {r["participant_id"]: r for r in rows(y_path)}
    columns = [k for k in rows(f"{folder}/params.tsv")[0] if k not in NOT_COVARIATES]
    worst, n = 0, 0
    for scored in rows(z_path):
        who = scored["participant_id"]
        for response in (k for k in scored if k != "participant_id"):
            p = known[(response,) + tuple(people[who][c] for c in columns)]
            worst = max(worst, abs(z(p, number(ys[who][response])) - number(scored[response])))
            n += 1
    assert n > 0 and worst < 2e-6, (n, worst)  # z.csv has floats
    print(n, worst)


def check_maps(folder):
    import nibabel as nib

    def data(name):
        return np.asarray(nib.load(f"{folder}/{name}.nii.gz").dataobj, dtype=float)

    summary = json.load(open(f"{folder}/summary.json"))
    grid = rows(f"{folder}/grid.tsv")
    mean, sd = data("params_mean"), data("params_sd")
    assert mean.shape[-1] == len(grid) and [int(r["volume"]) for r in grid] == list(range(len(grid)))
    inside = sd[..., 0] > 0
    nu = summary["nu"] or float("nan")
    try:
        a, b, loc, sc = (data(f"params_{k}")[inside] for k in ("a", "b", "loc", "sc"))
    except FileNotFoundError:
        a, b, loc, sc = 0, 1, 0, 1
    for percent in summary["centiles"]:
        name = "centile_" + ("0" if percent < 10 else "") + f"{percent:g}"
        zt = loc + sc * np.sinh((np.arcsinh(stats.norm.ppf(percent / 100)) + a) / b)
        t = zt if np.isnan(nu) else stats.t.ppf(stats.norm.cdf(zt), nu)
        got = data(name)
        for v in range(len(grid)):
            expected = mean[..., v][inside] + sd[..., v][inside] * t
            assert np.allclose(got[..., v][inside], expected, rtol=1e-5, atol=1e-5), (name, v)
        assert (got[~inside] == 0).all()
        if summary["bands"]["by"] != "none":
            low, high = data(name + "_lower"), data(name + "_upper")
            assert (low[inside] < got[inside]).all() and (got[inside] < high[inside]).all()
    print(inside.sum(), len(grid))


def make_half(study):
    import nibabel as nib

    mask = nib.load(f"{study}/mask.nii.gz")
    half = np.asarray(mask.dataobj) > 0
    half[: half.shape[0] // 2] = False
    nib.save(nib.Nifti1Image(half.astype("u1"), mask.affine), f"{study}/half.nii.gz")
    with open(f"{study}/half_images.txt", "w") as out:
        for line in open(f"{study}/train_images.txt"):
            who, path = line.split()
            image = nib.load(f"{study}/{path}")
            inside = np.asarray(image.dataobj, dtype="f4") * half
            nib.save(nib.Nifti1Image(inside, None, image.header), f"{study}/half_{who}.nii.gz")
            out.write(f"{who}\thalf_{who}.nii.gz\n")


{"values": check_values, "z": check_z, "maps": check_maps, "half": make_half}[sys.argv[1]](*sys.argv[2:])
