"""`kronorm reproduce` from end to end on a small simulated experiment."""

import csv
import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

program = sys.argv[1]
checks = 0
COLUMNS = ("method variant split components repeat R2 rho2 rho2_all MSLL z2 joint AUC_extreme_z AUC_deviance "
           "lml evaluations seconds_fit seconds_predict refused").split()
KEYS, NUMBERS = COLUMNS[:5], COLUMNS[5:-1]
SYSTEMS = "smtgpr stgpr kronprod whitened kronsum mtgpr convolved".split()


def check(condition, *what):
    global checks
    checks += 1
    if not condition:
        sys.exit("failed: " + " ".join(str(w) for w in what))


def run(*words):
    return subprocess.run([program, *words], capture_output=True, text=True)


def reproduce(data, out, *words):
    return run("reproduce", "--data", data, "-o", out, "--methods", "smtgpr", *words)


def rows_of(out):
    with open(f"{out}/results.tsv", newline="") as f:
        rows = list(csv.reader(f, delimiter="\t"))
    check(rows[0] == COLUMNS, "columns", rows[0])
    check(all(len(r) == len(COLUMNS) for r in rows), "whole rows")
    return [dict(zip(COLUMNS, r)) for r in rows[1:]]


def keys_of(rows):
    return [tuple(r[k] for k in KEYS) for r in rows]


def whole(data, out):
    """Every run asked for, once; a number too large is cut, and said."""
    done = reproduce(data, out, "--components", "5,10,5,1000,2000", "--repeats", "2", "--split",
                     "both")
    check(done.returncode == 0, done.stderr)
    rows = rows_of(out)
    keys = keys_of(rows)
    check(len(rows) == len(set(keys)) == 3 * 3 * 2 * 2, len(rows), "rows")
    check("2000 components requested, but at most 54 are possible" in done.stderr, done.stderr)
    most = {(v, s): max(int(r["components"]) for r in rows if r["variant"] == v and r["split"] == s)
            for v in ("paper", "iso-exact", "default") for s in ("scan", "pattern")}
    check(most["paper", "scan"] == most["default", "scan"] == 54 and most["iso-exact", "scan"] == 53,
          "largest numbers", most)
    for r in rows:
        full = int(r["components"]) > 10  # nothing of training is outside the basis: no density there
        check(all(math.isfinite(float(r[c])) for c in NUMBERS if c != "joint") and r["refused"] == "n/a", r)
        check(full or r["variant"] == "paper" or -100 < float(r["joint"]) < 100, r)
        check(0 <= float(r["AUC_extreme_z"]) <= 1 and float(r["seconds_fit"]) > 0, r)
        check(0.2 < float(r["z2"]) < 5 or r["variant"] == "paper", r)
    return rows


def sidecar(out, rows):
    with open(f"{out}/results.json") as f:
        told = json.load(f)
    check(list(told) == list(rows[0]), "columns of the sidecar", list(told))
    check(all(entry["Description"] for entry in told.values()), told)


def summary(out, rows):
    with open(f"{out}/summary.json") as f:
        told = json.load(f)
    check(told["data"]["random_scans"] == 120 and told["data"]["voxels"] == 200, told["data"])
    check(len(told["results"]) == 18, "groups")
    for g in told["results"]:
        mine = [r for r in rows if all(r[k] == str(g[k]) for k in KEYS[:4])]
        check(len(mine) == g["repeats"] == 2, g)
        for c in NUMBERS:
            if any(r[c] == "n/a" for r in mine):
                check(c == "joint" and g[c] == {"mean": None, "sd": None}, c, g)
                continue
            x = [float(r[c]) for r in mine]
            check(math.isclose(g[c]["mean"], statistics.fmean(x), rel_tol=1e-6), c, g)
            check(math.isclose(g[c]["sd"], statistics.stdev(x), rel_tol=1e-5, abs_tol=1e-9), c, g)


def figure(out):
    with open(f"{out}/figure.svg") as f:
        text = f.read()
    root = xml.etree.ElementTree.fromstring(text)
    check(root.get("width") == "900", "width")
    words = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    for w in ("Runtime of the fit, seconds", "Detection of figures, AUC", "R² of unseen random patterns, mean", "basis functions (components)",
              "S-MTGPR, paper", "S-MTGPR, default", "Split by pattern"):
        check(w in words, "the figure lacks", w)
    check("nan" not in text and "inf" not in text and "n/a" not in text, "numbers of the figure")
    ticks = [w for w in words if re.fullmatch(r"-?[0-9.]+", w)]
    check(all(len(w) <= 7 and w != "-0" for w in ticks), "ticks", ticks)


def resumed(data, out, rows):
    """Finished runs stay as they are; only what is new is run."""
    again = reproduce(data, out, "--components", "5,10,1000", "--repeats", "2", "--split", "both")
    check(again.returncode == 0 and "36 of 36 runs are in" in again.stderr, again.stderr)
    check(rows_of(out) == rows, "rows after nothing was to be done")
    with open(f"{out}/results.tsv") as f:
        lines = f.read().splitlines()
    with open(f"{out}/results.tsv", "w") as f:
        f.write("\n".join(lines[:-2]) + "\n")
    again = reproduce(data, out, "--components", "5,10,1000", "--repeats", "2", "--split", "both")
    check(again.returncode == 0 and "34 of 36 runs are in" in again.stderr, again.stderr)
    back = rows_of(out)
    check(back[:-2] == rows[:-2] and keys_of(back) == keys_of(rows), "rows after two were lost")
    timed = {"seconds_fit", "seconds_predict"}
    for a, b in zip(back[-2:], rows[-2:]):
        check(all(a[c] == b[c] == "n/a" or math.isclose(float(a[c]), float(b[c]), rel_tol=1e-6)
                  for c in NUMBERS if c not in timed), "the same run again", a, b)


def refused(answer, code, *expected):
    check(answer.returncode == code, answer.returncode, answer.stderr)
    last = answer.stderr.strip().splitlines()[-1]
    for words in expected:
        check(words in last, "said", repr(last), "expected", repr(words))


def other_results(data, out, folder):
    """Rows of other data, another seed or another version are not added to."""
    before = open(f"{out}/results.tsv").read()
    refused(reproduce(data, out, "--seed", "2"), 1, "summary.json", "another seed", "--force")
    other = f"{folder}/other"
    check(run("simulate", "--kind", "miyawaki", "--seed", "9", "-o", other).returncode == 0, "sim")
    refused(reproduce(other, out), 1, "summary.json", "other data", "--force")
    check(open(f"{out}/results.tsv").read() == before, "results.tsv was touched")
    copy = f"{folder}/copy"
    shutil.copytree(out, copy)
    with open(f"{copy}/results.tsv", "w") as f:
        f.write(before.replace("rho2_all", "rho3", 1))
    refused(reproduce(data, copy), 1, "results.tsv line 1", "--force")
    with open(f"{copy}/results.tsv", "w") as f:
        f.write(before.replace("iso-exact", "iso-vague", 1))
    refused(reproduce(data, copy), 1, "results.tsv line", "unknown variant 'iso-vague'")
    with open(f"{copy}/results.tsv", "w") as f:
        f.write(before)
    os.remove(f"{copy}/summary.json")
    refused(reproduce(data, copy), 1, "summary.json", "--force")
    anew = reproduce(data, copy, "--components", "5", "--repeats", "1", "--variants", "default",
                     "--force")
    check(anew.returncode == 0 and len(rows_of(copy)) == 1, "--force", anew.stderr)


def systems(data, folder):
    """Every system runs by its word, all on the same splits; one that does not take so many voxels is a
    row without numbers that says why, and nothing fails."""
    missing = []
    for word in SYSTEMS:
        done = run("reproduce", "--data", data, "-o", f"{folder}/{word}", "--methods", word, "--components",
                   "5,1000", "--variants", "default", "--repeats", "2")
        if done.returncode != 0:
            missing.append(f"{word}: {done.stderr.strip().splitlines()[-1]}")
            continue
        rows = rows_of(f"{folder}/{word}")
        many = word in ("smtgpr", "whitened", "mtgpr", "convolved")
        check(len(rows) == (4 if many else 2) and {r["method"] for r in rows} == {word}, word, rows)
        most = "53" if word == "whitened" else "54"
        check({r["components"] for r in rows} == ({"5", most} if many else {"n/a"}), word, rows)
        refused = [r for r in rows if r["refused"] != "n/a"]
        # kronsum: 200 voxels, 55 scans; convolved: 100 pixels to smooth over
        count = {"kronsum": 2, "convolved": 4}.get(word, 0)
        check(len(refused) == count, word, refused)
        for r in rows:
            check(all((r[c] == "n/a") == (r in refused) or c in ("lml", "joint") for c in NUMBERS), r)
            check(r in refused or r["components"] == most or r["joint"] != "n/a", r)
            check(r in refused or 0.2 < float(r["z2"]) < 5, r)
        if refused:
            said = [line for line in done.stderr.splitlines() if "is left out: " in line]
            sentences = list(dict.fromkeys(r["refused"] for r in refused))  # folds differ in scans
            check([line.partition("is left out: ")[2] for line in said] == sentences, "told once", said)
            check(f"{count} of them n/a" in done.stdout, done.stdout)
            check("{" not in refused[0]["refused"], refused[0])
            with open(f"{folder}/{word}/summary.json") as f:
                told = [g["refused"] for g in json.load(f)["results"] if "refused" in g]
            check(set(told) == {refused[0]["refused"]}, word, told)
    check(not missing, "\n".join(missing))


def interrupted(data, out):
    """Ctrl-C: whole rows, and no more than were finished; the same command goes on."""
    words = ["reproduce", "--data", data, "-o", out, "--methods", "smtgpr", "--components",
             "5,10,20,30,40,50", "--repeats", "40"]
    process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    for _ in range(600):
        if os.path.exists(f"{out}/results.tsv"):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    check(process.wait(60) == 130, "exit status", process.returncode)
    rows = rows_of(out)
    check(0 < len(rows) < 720, len(rows), "rows")
    check(sorted(os.listdir(out)) == ["results.json", "results.tsv", "summary.json"], os.listdir(out))
    again = reproduce(data, out, "--components", "5,10", "--repeats", "1")
    check(again.returncode == 0 and rows_of(out)[:len(rows)] == rows, again.stderr)


def usage(data, folder):
    out = f"{folder}/none"
    refused(run("reproduce", "-o", out), 2, "option --data is required")
    refused(run("reproduce", "--data", data), 2, "option -o (--output) is required")
    refused(reproduce(data, out, "--components", "10,x"), 2, "--components is '10,x'")
    refused(reproduce(data, out, "--components", "0"), 2, "--components is '0'")
    refused(reproduce(data, out, "--variants", "fast"), 2, "--variants contains 'fast'")
    refused(reproduce(data, out, "--methods", ""), 2, "--methods contains ''")
    refused(reproduce(data, out, "--split", "run"), 2, "--split is 'run'")
    refused(reproduce(data, out, "--repeats", "0"), 2, "--repeats is 0")
    refused(reproduce(f"{folder}/nowhere", out), 1, "nowhere", "layout")
    check(not os.path.exists(out), "a refused command made its folder")
    os.mkdir(out)
    open(f"{out}/figure.svg", "w").close()
    refused(reproduce(data, out), 1, "figure.svg", "--force")


with tempfile.TemporaryDirectory(prefix="kn-reproduce-") as folder:
    data, out = f"{folder}/data", f"{folder}/out"
    check(run("simulate", "--kind", "miyawaki", "--size", "small", "-o", data).returncode == 0, "sim")
    rows = whole(data, out)
    summary(out, rows)
    sidecar(out, rows)
    figure(out)
    resumed(data, out, rows)
    other_results(data, out, folder)
    interrupted(data, f"{folder}/stopped")
    usage(data, folder)
    systems(data, folder)
print(f"{checks} checks")
