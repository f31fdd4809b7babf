"""People, clusters, groups and changes of `kronorm report --json` against numpy, scipy and the files that the
page was made from: a cohort of images with labelled people, the same as regions, one model alone, and visits.

    report_people_oracle.py KRONORM"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import nibabel as nib
import numpy as np
from scipy import ndimage, stats

kronorm = os.path.abspath(sys.argv[1])
folder = tempfile.mkdtemp()
os.chdir(folder)
failures = 0


def run(*words):
    done = subprocess.run([kronorm, *words, *(["-q"] if words[0] != "report" else [])], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def report(*words):
    return json.loads(run("report", *words, "--json"))


def check(what, ok):
    global failures
    failures += not ok
    print(("ok   " if ok else "FAIL ") + what)


def close(a, b, tolerance=1e-9):
    a, b = (np.array([np.nan if v is None else v for v in np.atleast_1d(x)], float) for x in (a, b))
    return a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def table(path):
    with open(path) as f:
        header, *rows = [line.rstrip("\n").split("\t") for line in f]
    return {name: [row[k] for row in rows] for k, name in enumerate(header)}


def number(texts):
    return np.array([np.nan if t == "n/a" else float(t) for t in texts])


def order_is_right(what, j, p, statistic):
    rank = sorted(range(len(p)), key=lambda i: (np.isnan(p[i]), p[i] if p[i] == p[i] else 0, np.isnan(statistic[i]),
                                                -statistic[i] if statistic[i] == statistic[i] else 0, i))
    check(f"{what}: order", j["abnormality"]["order"] == rank)
    check(f"{what}: cards are of the first", [c["person"] for c in j["cards"]] == rank[:len(j["cards"])])


def people_are_right(what, j, rows, p="extreme_z_p"):
    get = lambda name: [x[name] for x in j["people"]]
    whole = "mean_z2" if "mean_z2" in rows else "deviance"
    pairs = [("extreme_z", "extreme_z"), ("extreme_z_p", p), (whole, whole), (f"{whole}_p", f"{whole}_p"),
             ("mean_z", "mean_z"), ("n_low", "n_low"), ("n_high_p", "n_high_p")]
    check(f"{what}: rows", all(close(get(a), number(rows[b]), 1e-14) for a, b in pairs))
    order_is_right(what, j, number(rows[p]), number(rows["extreme_z"]))
    share = (number(rows["n_low"]) + number(rows["n_high"])) / number(rows["n_responses"])
    check(f"{what}: shares", close(get("share"), share, 1e-14))
    check(f"{what}: p is never 0", all(x is None or x > 0 for x in get("extreme_z_p")))


def range_is_right(what, j, counted, n):
    low, high = j["abnormality"]["flagged_expected_low"], j["abnormality"]["flagged_expected_high"]
    law = stats.binom(len(counted), np.floor(0.05 * (n + 1) + 1e-9) / (n + 1))
    check(f"{what}: expected at p <= .05", j["abnormality"]["flagged_of"] == len(counted)
          and j["abnormality"]["flagged"] == sum(counted <= 0.05)
          and low == min(k for k in range(len(counted) + 1) if law.cdf(k) > 0.025)
          and high == min(k for k in range(len(counted) + 1) if law.cdf(k) >= 0.975))


def group_is_right(what, j, rows, summary, z):
    label = number(rows["label"]) == 1
    g = j["group"]
    check(f"{what}: who is labelled", (g["labelled"], g["others"]) == (label.sum(), (~label).sum()))
    for roc, key, column in zip(g["roc"], ["extreme_z", "deviance"], ["extreme_z", "deviance"]):
        x = number(rows[column])
        points = [(0, 0)] + [((x[~label] >= t).mean(), (x[label] >= t).mean()) for t in sorted(set(x), reverse=True)]
        check(f"{what}: ROC of {column}", close(roc["fpr"], [a for a, _ in points]) and
              close(roc["tpr"], [b for _, b in points]))
        brute = np.mean([(a > b) + (a == b) / 2 for a in x[label] for b in x[~label]])
        check(f"{what}: area of {column}", close(roc["auc"], brute) and close(roc["auc"], summary["AUC"][key]["auc"]))
        check(f"{what}: its interval", close([roc["low"], roc["high"]], [summary["AUC"][key][k] for k in ("low", "high")]))
    share = np.array([x["share"] for x in j["people"]], float)
    ties = len(set(share)) < len(share)
    if not ties:
        check(f"{what}: Mann-Whitney", close(g["share_p"], stats.mannwhitneyu(share[label], share[~label],
                                                                              method="exact").pvalue))
    else:  # exact with ties: within what 100,000 permutations can tell
        ranks, rng = stats.rankdata(share), np.random.default_rng(1)
        drawn = np.array([rng.permutation(ranks)[:label.sum()].sum() for _ in range(100000)])
        s = ranks[label].sum()
        p = min(1, 2 * min((drawn <= s + 1e-9).mean(), (drawn >= s - 1e-9).mean()))
        check(f"{what}: Mann-Whitney with ties", abs(g["share_p"] - p) < 0.01)
    check(f"{what}: medians", close(g["share_median"], [np.median(share[label]), np.median(share[~label])]))
    test = stats.ttest_ind(z[label], z[~label], equal_var=False)
    check(f"{what}: Welch's t", close(g["t"], test.statistic, 1e-7))
    p = test.pvalue
    rank = np.argsort(p)
    q = np.empty_like(p)
    q[rank] = np.minimum.accumulate((p[rank] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    check(f"{what}: q", close(g["q"], np.minimum(q, 1), 1e-7))
    check(f"{what}: how many stand out", g["n_significant"] == sum(q <= 0.05))
    check(f"{what}: the best", g["best"] == list(np.argsort(-np.abs(test.statistic), kind="stable")[:len(g["best"])]))


def clusters_of(volume, affine):
    found = []
    for sign in (-1, 1):
        labels, n = ndimage.label(sign * volume > 3, structure=np.ones((3, 3, 3)))
        for k in range(1, n + 1):
            where = np.argwhere(labels == k)
            values = volume[tuple(where.T)]
            at = where[np.argmax(np.abs(values))]
            mm = affine[:3] @ np.append(at, 1)
            found.append((len(where), values[np.argmax(np.abs(values))], mm))
    found.sort(key=lambda c: (-c[0], -abs(c[1])))
    return found


def clusters_are_right(what, j, path):
    image = nib.load(path)
    data, cell = np.asarray(image.dataobj, np.float32), abs(np.linalg.det(image.affine[:3, :3])) / 1000
    ok, some = True, 0
    for card in j["cards"]:
        expected = clusters_of(data[..., card["person"]], image.affine)
        some += len(expected)
        ok &= card["clusters_single"] == sum(n == 1 for n, _, _ in expected)
        ok &= card["clusters_found"] == len(expected) and len(card["clusters"]) == min(8, len(expected))
        for c, (n, z, mm) in zip(card["clusters"], expected):
            ok &= c["n"] == n and close(c["z"], z, 1e-6) and close(c["mm"], mm, 1e-4) and close(c["ml"], n * cell, 1e-6)
    check(f"{what}: {some} clusters", bool(ok) and some > 0)


def tops_are_right(what, j, z):
    ok = len(j["cards"]) > 0
    for card in j["cards"]:
        row = z[card["person"]]
        best = np.argsort(-np.abs(row), kind="stable")[:10]
        ok &= [t["response"] for t in card["top"]] == list(best)
        ok &= close([t["centile"] for t in card["top"]], 100 * stats.norm.cdf(row[best]), 1e-6)
    check(f"{what}: responses of the cards", bool(ok))


def values_of(path):
    with open(path) as f:
        return np.array([[float(c) for c in line.rstrip("\n").split(",")[1:]] for line in f.readlines()[1:]])


def lines_are_right(what, j, summary):
    g, least = summary["gev"], summary["abnormality"]["smallest_p"]
    law = stats.genextreme(-g["shape"], g["location"], g["scale"])
    expected = [law.isf(p) if p >= least else None for p in (0.05, 0.001)]
    check(f"{what}: lines", close([j["abnormality"]["line05"], j["abnormality"]["line001"]], expected, 1e-7))


def no_id_is_left(what, words, ids):
    text = run("report", *words, "--json", "--strip-ids")
    j = json.loads(text)
    check(f"{what}: stripped", j["stripped"] and not any(i in text for i in ids))
    check(f"{what}: and numbered", j["people"][0]["id"].startswith("participant-1"))


# ---- a cohort, as images and as regions --------------------------------------------------------------
run("simulate", "--samples", "70", "--patients", "12", "--visits", "2", "--regions", "24", "-o", "sim")
ids = table("sim/participants.tsv")["participant_id"]
for kind, responses in [("images", "images.txt"), ("regions", "regions.csv")]:
    mask = ["-m", "sim/mask.nii.gz"] if kind == "images" else []
    run("fit", "-c", "sim/train_participants.tsv", "-y", f"sim/train_{responses}", *mask, "-o", f"{kind}.safetensors")
    run("score", f"{kind}.safetensors", "-c", "sim/test_participants.tsv", "-y", f"sim/test_{responses}", "--cases",
        "group=patient", "-o", f"scored_{kind}")
    rows, summary = table(f"scored_{kind}/abnormality.tsv"), json.load(open(f"scored_{kind}/summary.json"))
    words = [f"{kind}.safetensors", "--scored", f"scored_{kind}"]
    j = report(*words)
    if kind == "images":
        inside = np.asarray(nib.load("sim/mask.nii.gz").dataobj).transpose(2, 1, 0).ravel() > 0
        image = np.asarray(nib.load(f"scored_{kind}/z.nii.gz").dataobj, np.float32)
        z = image.transpose(3, 2, 1, 0).reshape(image.shape[3], -1)[:, inside].astype(float)
        clusters_are_right(kind, j, f"scored_{kind}/z.nii.gz")
    else:
        z = values_of(f"scored_{kind}/z.csv").astype(np.float32).astype(float)
        tops_are_right(kind, j, z)
    check(f"{kind}: ids", [x["id"] for x in j["people"]] == rows["participant_id"])
    people_are_right(kind, j, rows)
    normal = number(rows["label"]) == 0
    range_is_right(kind, j, number(rows["deviance_p"])[normal], j["summary"]["training"])
    lines_are_right(kind, j, summary)
    group_is_right(kind, j, rows, summary, z)
    no_id_is_left(kind, words, ids)

# ---- a model alone: ranks among the others -----------------------------------------------------------
j = report("regions.safetensors")
statistic = np.array([x["extreme_z"] for x in j["people"]])
p = np.array([(1 + sum(np.delete(statistic, i) >= v)) / len(statistic) for i, v in enumerate(statistic)])
check("model alone: p", close([x["extreme_z_p"] for x in j["people"]], p))
check("model alone: statistics", close(statistic, j["abnormality"]["training"]))
mean_z = np.abs([x["mean_z"] for x in j["people"]])
p_mean = [(1 + sum(np.delete(mean_z, i) >= v)) / len(mean_z) for i, v in enumerate(mean_z)]
check("model alone: p of mean z", close([x["mean_z_p"] for x in j["people"]], p_mean))
check("model alone: ids", [x["id"] for x in j["people"]] == table("sim/train_participants.tsv")["participant_id"])
order_is_right("model alone", j, p, statistic)
no_id_is_left("model alone", ["regions.safetensors"], ids)

# ---- visits ------------------------------------------------------------------------------------------
run("change", "regions.safetensors", "-c", "sim/visits_participants.tsv", "-y", "sim/visits_regions.csv", "--visit",
    "session", "--reference", "group=control", "-o", "changed")
rows, reference = table("changed/change.tsv"), json.load(open("changed/reference.json"))
j = report("regions.safetensors", "--scored", "changed")
people_are_right("change", j, rows)
check("change: the reference", [x["reference"] for x in j["people"]] == [x == "1" for x in rows["reference"]] and
      close(j["change"]["gamma"], reference["gamma"]) and j["change"]["reference"] == "group=control")
who = rows["participant_id"][3]
j = report("regions.safetensors", "--scored", "changed", "--people", who)
check("change: a card for a person", [rows["participant_id"][c["person"]] for c in j["cards"]] == [who])
no_id_is_left("change", ["regions.safetensors", "--scored", "changed"], ids)

shutil.rmtree(folder)
print(f"{failures} failures")
sys.exit(failures > 0)
