"""What the command writes, as nibabel, numpy, nifti_tool and a 20-line reader of safetensors see it.

Speaks TAP: a line for each promise."""

import csv
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import nibabel as nib
    import numpy as np
    from scipy import stats
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from safetensors_read import read

program = os.path.abspath(sys.argv[1])
promises = 0


def check(condition, promise):
    global promises
    promises += 1
    print(f"{'ok' if condition else 'not ok'} {promises} - {promise}")


def close(a, b, promise, tolerance=1e-5):
    """Within the tolerance where both are numbers, and NaN in the same places."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    same = a.shape == b.shape and np.array_equal(np.isnan(a), np.isnan(b))
    check(same and np.nanmax(np.abs(a - b)) <= tolerance, promise)


def kronorm(*words):
    subprocess.run([program, *words, "-q"], check=True)


def table(path):
    with open(path, newline="") as f:
        return list(csv.reader(f, delimiter="\t" if path.endswith(".tsv") else ","))


def data(path):
    return np.asarray(nib.load(path).dataobj)


def rows_of(name, ids):
    """Images of a list in the order of the ids."""
    with open(name) as f:
        paths = dict(line.rstrip("\n").split("\t") for line in f)
    return [os.path.join(os.path.dirname(name), paths[i]) for i in ids]


def headers(folder):
    images = [os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith(".nii.gz")]
    if not shutil.which("nifti_tool"):
        print("# no nifti_tool: headers are checked by nibabel alone")
        return
    for image in images:
        run = subprocess.run(["nifti_tool", "-check_hdr", "-infiles", image], capture_output=True,
                             text=True)
        check(run.returncode == 0 and "FAILURE" not in run.stdout,
              f"nifti_tool accepts {os.path.basename(image)}")


def by_layer(e, v, model, numeric=None, level=None):
    """z of people x responses from residuals and model variances, standardised, as METHOD 8c writes it."""
    t, metadata = model
    layer = json.loads(metadata["record"])["layer"]
    V = v + t["noise"]
    if layer and layer["columns"]:
        D = []
        for c in layer["columns"]:
            if c["kind"] == 0:
                D.append(np.ones(len(e)))
                continue
            x = level[:, c["source"]] - 0.5 if c["kind"] == 3 else \
                (np.clip(numeric[:, c["source"]], c["low"], c["high"]) - c["mean"]) / c["sd"]
            D.append((x * x if c["kind"] == 2 else x) - c["centre"])
        V = v + t["noise"] * np.exp(np.column_stack(D) @ t["scale_beta"])
    z = e / np.sqrt(V)
    if not layer:
        return z
    z = -np.sign(z) * stats.norm.ppf(stats.t.cdf(-np.abs(z), layer["nu"]))
    if not layer["shape"]:
        return z
    a, b = t["shape"][0], np.exp(t["shape"][1])
    node, weight = np.polynomial.hermite_e.hermegauss(61)
    q = np.sinh((np.arcsinh(node)[:, None] + a) / b)  # where loc is 0 and sc 1
    weight = weight[:, None] / weight.sum()
    mean = (weight * q).sum(0)
    sd = np.sqrt((weight * (q - mean) ** 2).sum(0))
    return np.sinh(b * np.arcsinh(z * sd + mean) - a)  # loc = -mean/sd, sc = 1/sd


def images():
    kronorm("simulate", "--samples", "30", "--patients", "4", "-o", "study")
    kronorm("fit", "-c", "study/train_participants.tsv", "-y", "study/train_images.txt", "-m",
            "study/mask.nii.gz", "-o", "m.safetensors")
    kronorm("score", "m.safetensors", "-c", "study/test_participants.tsv", "-y",
            "study/test_images.txt", "--write", "z,yhat,ys2_model", "-o", "out")
    people = [r[0] for r in table("out/abnormality.tsv")[1:]]
    source = nib.load(rows_of("study/test_images.txt", people)[0])
    mask = data("study/mask.nii.gz") != 0
    y = np.stack([data(p) for p in rows_of("study/test_images.txt", people)], -1)
    maps = {}
    for name in ("z", "yhat", "ys2_model", "ys2_noise"):
        image = nib.load(f"out/{name}.nii.gz")
        maps[name] = np.asarray(image.dataobj)
        check(np.array_equal(image.affine, source.affine), f"{name} has the affine of the images")
        check(image.get_data_dtype() == np.float32, f"{name} is of floats")
        check(image.header.get_zooms()[:3] == source.header.get_zooms()[:3], f"{name} has their voxel size")
        shape = source.shape + ((len(people),) if name != "ys2_noise" else ())
        check(image.shape == shape, f"{name} has shape {shape}")
        check(not maps[name][~mask].any(), f"{name} is 0 outside the mask")
    headers("out")
    fitted = read("m.safetensors")
    sd, within = fitted[0]["y_sd"], mask.T  # voxels go x fastest
    z = by_layer((y - maps["yhat"]).T[:, within] / sd, maps["ys2_model"].T[:, within] / sd ** 2, fitted)
    close(maps["ys2_noise"].T[within], fitted[0]["noise"] * sd ** 2, "ys2_noise is the model's noise")
    close(maps["z"].T[:, within], z, "z is what METHOD makes of y, yhat, ys2_model and ys2_noise, to 1e-5")

    rows = table("out/metrics.tsv")
    for name in ("R2", "MSLL", "z2"):
        image = nib.load(f"out/metrics_{name}.nii.gz")
        expected = np.zeros(source.shape)
        for r in rows[1:]:
            expected[tuple(map(int, r[0].split(",")))] = float(r[rows[0].index(name)])
        check(image.shape == source.shape and np.array_equal(image.affine, source.affine),
              f"metrics_{name} is one volume in the space of the images")
        close(np.asarray(image.dataobj), expected, f"metrics_{name} is {name} of metrics.tsv", 1e-6)

    kronorm("score", "m.safetensors", "-c", "study/test_participants.tsv", "-y",
            "study/test_images.txt", "--split", "-o", "split")
    for i, name in enumerate(people):
        image = nib.load(f"split/{name}_z.nii.gz")
        if image.shape != source.shape or not np.array_equal(np.asarray(image.dataobj),
                                                             maps["z"][..., i]):
            check(False, f"{name}_z.nii.gz is volume {i} of z.nii.gz")
            break
    else:
        check(True, "--split files are the volumes of the joint one")
    headers("split")
    order = np.flatnonzero(mask.ravel(order="F"))
    kronorm("score", "m.safetensors", "-c", "study/test_participants.tsv", "-y",
            "study/test_images.txt", "--format", "npy", "-o", "npy")
    array = np.load("npy/z.npy")
    flat = maps["z"].reshape(-1, len(people), order="F")[order].T
    check(array.dtype == np.float32 and np.array_equal(array, flat),
          "--format npy: people x voxels, x fastest")
    kronorm("score", "m.safetensors", "-c", "study/test_participants.tsv", "-y",
            "study/test_images.txt", "--format", "csv", "-o", "csv")
    rows = table("csv/z.csv")
    check(rows[0] == ["participant_id"] + [f"voxel_{v}" for v in order], "--format csv: its header")
    check([r[0] for r in rows[1:]] == people, "--format csv: its people")
    close([[float(x) for x in r[1:]] for r in rows[1:]], array, "--format csv: the same z", 0)

    # the same images as one 4D file, of the other kinds NIfTI knows
    for name, kind in (("four.nii", nib.Nifti1Image), ("four2.nii.gz", nib.Nifti2Image),
                       ("four.img", nib.Nifti1Pair)):
        nib.save(kind(y, source.affine), name)
    people_rows = table("study/test_participants.tsv")
    by_id = {r[0]: r for r in people_rows}
    with open("ordered.tsv", "w") as f:
        for r in [people_rows[0]] + [by_id[p] for p in people]:
            f.write("\t".join(r) + "\n")
    for name in ("four.nii", "four2.nii.gz", "four.hdr"):
        kronorm("score", "m.safetensors", "-c", "ordered.tsv", "-y", name, "-o", f"of_{name}_")
        close(data(f"of_{name}_/z.nii.gz"), maps["z"], f"the same z from {name}", 0)


def model():
    t, metadata = read("m.safetensors")
    record = json.loads(metadata["record"])
    N, F, T = record["n_samples"], record["n_columns"], record["n_responses"]
    P, M, C = record["n_components"], record["rank"], record["n_covariates"]
    check(metadata["format"] == "kronorm model" and metadata["format_version"] == "1",
          "the model says what it is")
    check(set(metadata) == {"checksum", "format", "format_version", "software", "record", "ids"},
          "the model's metadata are the documented ones")
    K, Kn = len(t["deviance_lam"]), len(t["deviance_noise_lam"])
    shapes = {"X": (N, F), "U": (N, M), "r": (M,), "A": (M, P), "c": (P,), "d": (P,), "B": (T, P),
              "noise": (T,), "kept": (T,), "y_mean": (T,), "y_sd": (T,), "x_mean": (C,),
              "x_sd": (C,), "slope": (T,), "extreme_z": (N,), "mean_z": (N,), "n_low": (N,),
              "n_high": (N,), "extreme_z_loo": (N,), "row_order": (N,), "y_sum": (N,), "y_trivial_mean": (T,), "y_trivial_sd": (T,), "extrapolation": (N,), "z_cv": (N, T),
              "deviance_Q": (T, K), "deviance_lam": (K,), "deviance_psi": (T,),
              "deviance_ref": (N,), "deviance_noise_Q": (T, Kn), "deviance_noise_lam": (Kn,),
              "deviance_noise_psi": (T,), "deviance_noise_ref": (N,), "voxels": (T,), "site_mu": (T,),
              "site_tau2": (T,), "site_w": (T,), "site_w_scale": (T,), "null_noise": (T,), "cv_R2": (T,)}
    if record["null"]["shape"]:
        shapes["null_shape"] = (2, T)
    if "scale_batch" in t:
        shapes["scale_batch"] = (len(record["batch"]["codes"]),)
    for name, shape in shapes.items():
        check(name in t and t[name].shape == shape, f"{name} is {' x '.join(map(str, shape))}")
    check(set(t) == set(shapes) | {"nifti_header"}, "there is nothing undocumented")
    ids = json.loads(metadata["ids"])
    check(sorted(ids) == sorted(r[0] for r in table("study/train_participants.tsv")[1:]),
          "ids are those of training")
    y = np.stack([data(p) for p in rows_of("study/train_images.txt", ids)], -1)
    y = y.reshape(-1, len(ids), order="F")[t["voxels"]].T
    close(t["y_mean"], y.mean(0), "y_mean is the mean of the images")
    close(t["B"].T @ t["B"], np.eye(P), "B is orthonormal", 1e-10)
    numbers = sum("shares" not in c for c in record["design"]["columns"])
    close(t["X"][:, :numbers].mean(0), np.zeros(numbers), "X is standardised", 1e-10)
    image = nib.Nifti1Image.from_bytes(t["nifti_header"].tobytes() + bytes(4 + 4 * 20 * 24 * 20))
    check(np.array_equal(image.affine, nib.load("study/mask.nii.gz").affine),
          "nifti_header holds the geometry")
    kronorm("score", "m.safetensors", "-c", "study/train_participants.tsv", "-y",
            "study/train_images.txt", "-o", "train", "--format", "npy")
    people = [r[0] for r in table("train/abnormality.tsv")[1:]]
    check(all(r[1] == "1" for r in table("train/abnormality.tsv")[1:]), "in_training is 1")
    close(np.load("train/z.npy"), t["z_cv"][[ids.index(p) for p in people]],
          "training ids scored again get their z_cv", 0)
    kronorm("fit", "-c", "study/train_participants.tsv", "-y", "study/train_images.txt",
            "--strip-ids", "-o", "bare.safetensors")
    t, metadata = read("bare.safetensors")
    check("ids" not in metadata and "z_cv" not in t, "--strip-ids: neither ids nor z_cv")
    log = json.load(open("m.safetensors.log.json"))
    check(set(log) == {"software", "blas", "core", "model", "ranks", "nodes", "threads", "memory", "seconds",
                       "processor_seconds", "fit", "outliers"}, "the log's keys")
    check(set(log["fit"]) == {"command", "inputs", "hashes", "warnings", "understood"}, "the log's record of the run")
    check(set(log["seconds"]) == {"basis", "fit", "reference"}, "the log's timings")


def layers():
    """Every part of the calibration layer, of 90 people whose noise depends on age and is skewed."""
    rng = np.random.default_rng(5)
    n, T = 120, 30
    age, sex = rng.uniform(20, 80, n), rng.integers(0, 2, n)
    noise = (rng.gamma(4, 1, (n, T)) - 4) / 2 * np.exp(((age - 50) / 30 + sex)[:, None] / 2)
    Y = 3 - 0.02 * age[:, None] + 0.3 * noise + 0.1 * rng.normal(size=(n, 1))
    names = [f"r{j}" for j in range(T)]
    for name, rows in ("train", slice(0, 90)), ("new", slice(90, n)):
        with open(f"{name}.csv", "w", newline="") as f:
            w = csv.writer(f)
            w.writerow(["participant_id", "age", "sex", *names])
            w.writerows([f"{name}{i}", a, "FM"[s], *y] for i, (a, s, y) in
                        enumerate(zip(age[rows], sex[rows], Y[rows])))
    for how in ("none", "student", "auto", "full"):
        kronorm("fit", "-c", "train.csv", "-y", "train.csv", "--use", "age,sex", "--targets", "r*", "--calibrate",
                how, "-o", f"{how}.safetensors")
        kronorm("score", f"{how}.safetensors", "-c", "new.csv", "-y", "new.csv", "--write", "z,yhat,ys2_model",
                "-o", how)
        fitted = read(f"{how}.safetensors")
        maps = {m: np.array([[float(x) for x in r[1:]] for r in table(f"{how}/{m}.csv")[1:]])
                for m in ("z", "yhat", "ys2_model")}
        sd = fitted[0]["y_sd"]
        z = by_layer((Y[90:] - maps["yhat"]) / sd, maps["ys2_model"] / sd ** 2, fitted, age[90:, None], sex[90:, None])
        close(maps["z"], z, f"--calibrate {how}: z by the arrays of the file")
        layer = json.loads(fitted[1]["record"])["layer"]
        parts = layer and (len(layer["columns"]), layer["shape"])
        check(parts == {"none": None, "student": (0, False), "auto": (3, True), "full": (4, True)}[how], f"... whose parts are {parts}")
        info = subprocess.run([program, "info", f"{how}.safetensors", "--json"], capture_output=True, check=True)
        told = json.loads(info.stdout)["calibration"]
        check(told == (layer and {"nu": layer["nu"], "parts": layer["parts"]}), "... which info --json tells")


def xxh64(x, seed):
    """XXH64 as its specification writes it."""
    P = [0, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5]
    M = 2 ** 64 - 1

    def turn(v, by):
        return (v << by | v >> (64 - by)) & M

    def step(lane, word):
        return turn((lane + word * P[2]) & M, 31) * P[1] & M

    n, at, h = len(x), 0, (seed + P[5]) & M
    if n >= 32:
        lane = [(seed + P[1] + P[2]) & M, (seed + P[2]) & M, seed, (seed - P[1]) & M]
        words = struct.unpack(f"<{n // 32 * 4}Q", x[:n // 32 * 32])
        for i in range(0, len(words), 4):
            lane = [step(v, w) for v, w in zip(lane, words[i:i + 4])]
        h = sum(turn(v, by) for v, by in zip(lane, (1, 7, 12, 18))) & M
        for v in lane:
            h = ((h ^ step(0, v)) * P[1] + P[4]) & M
        at = n // 32 * 32
    h = (h + n) & M
    for at in range(at, n - 7, 8):
        h = (turn(h ^ step(0, struct.unpack_from("<Q", x, at)[0]), 27) * P[1] + P[4]) & M
    at = n // 8 * 8
    if n - at >= 4:
        h = (turn(h ^ struct.unpack_from("<I", x, at)[0] * P[1] & M, 23) * P[2] + P[3]) & M
        at += 4
    for byte in x[at:]:
        h = turn(h ^ byte * P[5] & M, 11) * P[1] & M
    h = (h ^ h >> 33) * P[2] & M
    h = (h ^ h >> 29) * P[3] & M
    return h ^ h >> 32


def summary():
    s = json.load(open("out/summary.json"))
    check(set(s) == {"metrics", "calibration", "AUC", "gev", "abnormality", "counts", "warnings", "seconds",
                     "software", "command", "hashes", "cases", "matched_by", "dropped", "files"}, "summary.json has its keys")
    ids = [r[0] for r in table("out/abnormality.tsv")[1:]]
    mask = read("m.safetensors")[0]["voxels"]
    h = 0
    for path in rows_of("study/test_images.txt", ids):
        own = xxh64(data(path).reshape(-1, order="F")[mask].astype(float).tobytes(), 0)
        h = xxh64(struct.pack("<Q", own), h)
    check(s["hashes"]["responses"] == f"xxh64-values:{h:016x}", "the values of images are hashed person by person")
    for key, path in ("model", "m.safetensors"), ("covariates", "study/test_participants.tsv"):
        h = xxh64(open(path, "rb").read(), 0)
        check(s["hashes"][key] == f"xxh64:{h:016x}", f"the {key} are hashed as the file they are")
    rows = table("out/metrics.tsv")
    means = np.mean([[float(x) for x in r[1:]] for r in rows[1:]], 0)
    close([s["metrics"][k] for k in rows[0][1:]], means, "its metrics are the means of metrics.tsv", 1e-8)
    run = subprocess.run([program, "info", "m.safetensors", "--json"], capture_output=True, check=True)
    info = json.loads(run.stdout)
    keys = """format_version method noise likelihood n_samples n_covariates n_responses n_components
        rank lml evaluations converged theta gradient terms weights noise_variance components_curve cv gev
        seconds software""".split()
    for key in keys:
        check(key in info, f"info --json has {key}")


with tempfile.TemporaryDirectory(prefix="kn-cli-") as folder:
    os.chdir(folder)
    images()
    model()
    summary()
    layers()
    os.chdir("/")
print(f"1..{promises}")
