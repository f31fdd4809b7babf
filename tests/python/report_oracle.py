"""Calibration and responses of `kronorm report --json`, by brute force from the scored folder.

    report_oracle.py KRONORM

A study is simulated, fitted, scored and reported, as regions with missing cells and as images. Means, intervals, coverage, PIT, worm, z^2 of each response and its limits are computed here from z
and abnormality.tsv, to 1e-9; bands too, since the random numbers are the same everywhere: xoshiro256++."""
import csv
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from scipy import stats

KRONORM = os.path.abspath(sys.argv[1])
MASK = (1 << 64) - 1
checks = 0


def run(*words):
    done = subprocess.run([KRONORM, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def table(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f, delimiter="\t" if path.endswith(".tsv") else ","))


def number(text):
    return float("nan") if text in ("n/a", "", "NA") else float(text)


def same(what, found, expected, tolerance=1e-9):
    global checks
    found, expected = (np.array(x, dtype=float) for x in (found, expected))
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    assert (np.isnan(found) == np.isnan(expected)).all(), (what, found, expected)
    off = np.nanmax(np.abs(found - expected) / np.maximum(1, np.abs(expected)), initial=0)
    assert off <= tolerance, f"{what}: off by {off}: {found} {expected}"
    checks += 1


class Rng:
    def __init__(self, seed, stream):
        def mix(x):
            x = (x + 0x9E3779B97F4A7C15) & MASK
            z = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            return x, z ^ (z >> 31)

        x, y, self.s = seed, (stream + 0x5851F42D4C957F2D) & MASK, []
        for _ in range(4):
            x, a = mix(x)
            y, b = mix(y)
            self.s.append(a ^ b)

    def next(self):
        turn = lambda v, k: ((v << k) | (v >> (64 - k))) & MASK
        s = self.s
        out = (turn((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = turn(s[3], 45)
        return out

    def below(self, n):
        limit = MASK - MASK % n
        while True:
            x = self.next()
            if x < limit:
                return x % n


def each_once(ids, Z):
    """A list of all z of each person."""
    people = {}
    for i, z in zip(ids, Z):
        z = z[np.isfinite(z)]
        if len(z):
            people.setdefault(i, []).append(z)
    return [np.concatenate(z) for z in people.values()]


def calibration(people, widening, seed, stream, spread=0):
    n, out = len(people), {"n": len(people)}
    t = stats.t.ppf(0.975, n - 1)
    x, x2 = (np.array([(z**k).mean() for z in people]) for k in (1, 2))
    for name, v, least in (("mean", x, 0), ("z2", x2, spread)):
        half = t * max(v.std(ddof=1), least) / np.sqrt(n) * widening
        out.update({name: v.mean(), name + "_low": v.mean() - half, name + "_high": v.mean() + half})
    out["spread"] = x2.std(ddof=1)
    out["coverage"] = [np.mean([(abs(z) <= stats.norm.ppf(0.5 + c / 2)).mean() for z in people])
                       for c in (0.5, 0.9, 0.95, 0.99)]
    q = np.arange(-30, 31) / 10
    known = sum(map(len, people)) * stats.norm.cdf(-abs(q)) >= 5
    hist = np.array([np.bincount(np.clip(np.floor((z + 8) * 20), 0, 319).astype(int), minlength=320) / len(z)
                     for z in people])
    cuts = stats.norm.ppf(np.arange(1, 20) / 20)
    pit = np.array([np.bincount(np.searchsorted(cuts, z), minlength=20) / len(z) * 20 for z in people])

    def worm(h):
        F = np.concatenate([[0], np.cumsum(h)])
        k = np.clip(np.searchsorted(F[1:], stats.norm.cdf(q) * F[-1]), 0, 319)
        value = -8 + 0.05 * (k + (stats.norm.cdf(q) * F[-1] - F[k]) / np.where(h[k] > 0, h[k], 1)) - q
        return np.where(known, value, np.nan)

    out["q"], out["worm"], out["pit"] = q, worm(hist.mean(0)), pit.mean(0)
    rng = Rng(seed, stream)
    worms, pits = [], []
    for _ in range(400):
        w = np.bincount([rng.below(n) for _ in range(n)], minlength=n) / n
        worms.append(worm(w @ hist))
        pits.append(w @ pit)
    factor = widening * np.sqrt(n / (n - 1)) * t / stats.norm.ppf(0.975)
    worms, pits = np.array(worms), np.array(pits)
    se = worms.std(0, ddof=1)
    vary = se > 1e-12
    largest = np.sort(np.max(np.abs(worms - out["worm"])[:, vary] / se[vary], axis=1))[379]
    out["worm_low"], out["worm_high"] = out["worm"] - factor * largest * se, out["worm"] + factor * largest * se
    if n < 15:
        out["worm_low"] = out["worm_high"] = np.full(61, np.nan)
    flat = factor * np.sort(np.max(np.abs(pits - out["pit"]), axis=1))[379]
    out["pit_low"], out["pit_high"], out["pit_se"] = 1 - flat, 1 + flat, factor * pits.std(0, ddof=1)
    return out


def compare(what, found, expected):
    assert found["n"] == expected["n"], (what, found["n"], expected["n"])
    for key, value in expected.items():
        if key not in ("n", "spread"):
            f = found[key]
            f = [np.nan if v is None else v for v in f] if isinstance(f, list) else f
            # bands come after subtractions of nearly equal numbers, and of one sample more or less
            same(f"{what} {key}", f, value, 1e-9 if key[-4:] not in ("_low", "high", "t_se") else 1e-7)


def z_of(folder):
    if os.path.exists(f"{folder}/z.nii.gz"):
        import nibabel
        z = np.asarray(nibabel.load(f"{folder}/z.nii.gz").dataobj, dtype=np.float64)
        mask = np.asarray(nibabel.load(f"{folder}/../study/mask.nii.gz").dataobj) != 0
        return z.transpose(3, 2, 1, 0)[:, mask.transpose(2, 1, 0)]
    rows = table(f"{folder}/z.csv")
    return np.array([[number(v) for k, v in r.items() if k != "participant_id"] for r in rows])


def check(what, model, folder, seed, N):
    page = json.loads(run("report", model, "--scored", folder, "--json", "--seed", seed, "-q"))
    people, Z = table(f"{folder}/abnormality.tsv"), z_of(folder).astype(np.float32).astype(np.float64)
    normal = [i for i, r in enumerate(people) if r["label"] != "1" and r["in_training"] != "1"]
    ids = [people[i]["participant_id"] for i in normal]
    crowd = each_once(ids, Z[normal])
    n, h = len(crowd), page["zhist"]["scored"]
    same(f"{what} sum", h["sum"], np.nansum(Z, 1))
    same(f"{what} sum2", h["sum2"], np.nansum(Z**2, 1))
    assert h["responses"] == np.isfinite(Z).sum(1).tolist()
    t = page["zhist"]["training"]
    x2 = np.array(t["sum2"]) / np.array(t["responses"])
    spread = x2.std(ddof=1)
    expected = calibration(crowd, np.sqrt(1 + n / N), seed, 0x70616765 + 1, spread)
    compare(what, page["calibration"]["scored"], expected)
    same(f"{what} training z2", page["calibration"]["training"]["z2"], x2.mean())
    r = page["response"]
    with np.errstate(invalid="ignore"):
        z2 = np.nanmean(Z[normal] ** 2, 0)
    same(f"{what} z2 of responses", r["z2"], z2)
    m = 1 / (1 / n + 1 / N)
    same(f"{what} limits", [r["z2_low"], r["z2_high"]], stats.chi2.ppf([0.025, 0.975], m) / m)
    same(f"{what} inside", r["z2_inside"], ((z2 >= r["z2_low"]) & (z2 <= r["z2_high"])).mean())
    metrics = table(f"{folder}/metrics.tsv")
    same(f"{what} MSLL", r["MSLL"], [number(x["MSLL"]) for x in metrics])
    R2, gain = ([number(x[k]) for x in metrics] for k in ("R2", "gain"))
    same(f"{what} gain", r["gain"], gain)
    best = np.lexsort((-np.array(gain), -np.array(R2)))
    assert r["best"] == [j for j in best if R2[j] > 0][:20]


def arrays(path):
    """Of a safetensors file."""
    with open(path, "rb") as f:
        raw = f.read()
    end = 8 + int.from_bytes(raw[:8], "little")
    kind = {"F64": np.float64, "F32": np.float32}
    return {k: np.frombuffer(raw[end + v["data_offsets"][0]:end + v["data_offsets"][1]], kind[v["dtype"]]).reshape(v["shape"])
            for k, v in json.loads(raw[8:end]).items() if k != "__metadata__" and v["dtype"] in kind}


def check_parts(what, model, folder):
    """Shares of components, R2 of a model alone and the order by it, bars of the cohort, overlap of the groups."""
    a, alone = arrays(model), json.loads(run("report", model, "--json", "-q"))
    page = json.loads(run("report", model, "--scored", folder, "--json", "-q"))
    N, r = len(table("study/train_participants.tsv")), alone["response"]
    signal = a["c"] * a["r"].sum() / N
    same(f"{what} shares of components", alone["model"]["share"], signal / (signal + a["d"]))
    same(f"{what} R2 of training", r["R2"], a["cv_R2"])
    assert r["best"] == [j for j in np.argsort(-np.array(r["R2"]), kind="stable") if r["R2"][j] > 0][:20]
    ages = [[float(x["age"]) for x in table(f"study/{part}_participants.tsv")] for part in ("train", "test")]
    age = next(c for c in page["cohort"]["columns"] if c["name"] == "age")
    edges = np.linspace(min(map(min, ages)), max(map(max, ages)), 21)
    same(f"{what} edges of the bars", age["edges"], edges)
    same(f"{what} people in the bars", age["scored"], np.histogram(ages[1], edges)[0])
    Z, label = z_of(folder).astype(np.float32), np.array([x["label"] == "1" for x in table(f"{folder}/abnormality.tsv")])
    for key, who in (("overlap", label), ("overlap_others", ~label)):
        known = np.isfinite(Z[who]).sum(0)
        same(f"{what} {key}", page["group"][key], (np.abs(Z[who]) > 1.96).sum(0) / known)


def main():
    with tempfile.TemporaryDirectory() as at:
        os.chdir(at)
        run("simulate", "--samples", 60, "--patients", 4, "--regions", 24, "--seed", 5, "-o", "study", "-q")
        test = table("study/test_participants.tsv")
        N = len(table("study/train_participants.tsv"))
        rows = table("study/test_regions.csv")
        for i, j in ((0, 3), (1, 3), (2, 7)):  # cells that are missing
            rows[i][list(rows[i])[1 + j]] = "n/a"
        with open("study/test_regions.csv", "w", newline="") as f:
            w = csv.DictWriter(f, rows[0])
            w.writeheader()
            w.writerows(rows)
        for what, train, scored in (("regions", ["study/train_regions.csv"], "study/test_regions.csv"),
                                    ("images", ["study/train_images.txt", "--mask", "study/mask.nii.gz"],
                                     "study/test_images.txt")):
            run("fit", "-c", "study/train_participants.tsv", "-y", *train, "-o", f"{what}.safetensors", "-q", "--threads", 1)
            run("score", f"{what}.safetensors", "-c", "study/test_participants.tsv", "-y", scored, "--cases", "group=patient",
                "-o", what, "-q", "--threads", 1)
            check(what, f"{what}.safetensors", what, 1, N)
            check_parts(what, f"{what}.safetensors", what)
        check("another seed", "regions.safetensors", "regions", 7, N)
        assert len(test) > 10
    print(f"{checks} numbers and arrays agree")


main()
