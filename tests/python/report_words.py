"""Are the sentences of `kronorm report` true? One small study, told in many ways: by training, by people of the folder,
by folds, by visits; without ids, without people, with one person or two, and with those of training.

    report_words.py KRONORM"""

import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

from scipy import stats

kronorm = os.path.abspath(sys.argv[1])
folder = tempfile.mkdtemp()
os.chdir(folder)
failures = 0


def run(*words):
    done = subprocess.run([kronorm, *map(str, words), *([] if words[0] == "report" else ["-q", "--threads", "1"])],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def check(what, ok, seen=""):
    global failures
    failures += not ok
    print(("ok   " if ok else "FAIL ") + what + ("" if ok else f": {seen}"))


class Page:
    def __init__(self, *words):
        self.json = json.loads(run("report", *words, "--json"))
        s = self.json["summary"]
        self.warned, self.good = ({n["code"]: n["words"] for n in s[k]} for k in ("warnings", "good"))
        self.methods = " ".join(self.json["words"]["paragraphs"])
        self.cards = {self.json["people"][c["person"]]["id"]: c["words"] for c in self.json["cards"]}

    def text(self):
        return json.dumps(self.json)


def rows(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f, delimiter="\t" if path.endswith(".tsv") else ","))


def write(path, table, columns):
    with open(path, "w", newline="") as f:
        w = csv.DictWriter(f, columns, delimiter="\t" if path.endswith(".tsv") else ",", extrasaction="ignore")
        w.writeheader()
        w.writerows(table)


def least_p_is_said(what, page, least):
    """No p of the page is below the one that the warning names, and it is the one of the reference."""
    said = re.search(r"p cannot be below (0\.\d+)", page.warned["few"])
    check(f"{what}: the least p", said and abs(float(said[1]) / least - 1) < 0.06, page.warned["few"])
    check(f"{what}: ... and nobody has less", all(p["p"] is None or p["p"] >= least * (1 - 1e-6) for p in page.json["people"]))


def expected_range_is_said(what, page, rate):
    a = page.json["abnormality"]
    law = stats.binom(a["deviance_of"], rate)
    low = min(k for k in range(a["deviance_of"] + 1) if law.cdf(k) > 0.025)
    high = min(k for k in range(a["deviance_of"] + 1) if law.cdf(k) >= 0.975)
    words = page.good.get("abnormal") or page.warned.get("abnormal", "")
    check(f"{what}: how many are expected", f"{low} to {high}" in words, words)


run("simulate", "--samples", 60, "--patients", 8, "--visits", 2, "--regions", 24, "--seed", 5, "-o", "s")
train, test = ["-c", "s/train_participants.tsv", "-y", "s/train_regions.csv"], ["-c", "s/test_participants.tsv", "-y", "s/test_regions.csv"]
N = len(rows("s/train_participants.tsv"))
label = ["--label", "group=patient"]
run("fit", *train, "-o", "m.safetensors")

# ---- by training -------------------------------------------------------------------------------------
run("score", "m.safetensors", *test, *label, "-o", "scored")
page = Page("m.safetensors", "--scored", "scored")
judged = {r["participant_id"]: r for r in rows("scored/abnormality.tsv")}
normal = [r for r in judged.values() if r["label"] == "0"]
check("training: nobody is of it", "training" in page.good)
check("training: nobody is called healthy", "healthy" not in page.text())
least_p_is_said("training", page, 1 / (2 * (N + 1)))
expected_range_is_said("training", page, math.floor(0.05 * (N + 1)) / (N + 1))
check("training: of whom it is told", f"the {len(normal)} people without the label" in page.good["calibration"], page.good)
for who, words in page.cards.items():
    p = float(judged[who]["p_upper"])
    said = re.search(r"More extreme than (at least )?([\d.]+) % of people like those of training by the largest \|z\| \(p ([<=]) (0\.\d+)", words)
    check(f"training: {who} has the p of the table", said and
          ((said[3] == "<") == (judged[who]["p_note"] == "bound") == bool(said[1])) and
          abs(float(said[4]) - p) <= (0.1 if said[3] == "<" else 0.051) * p + 1e-9, words)
    if said and said[3] == "<":
        check(f"training: {who} is not said to be rarer than that", float(said[4]) >= p and float(said[2]) / 100 <= 1 - p, words)
    share = 100 * (int(judged[who]["negative"]) + int(judged[who]["positive"])) / int(judged[who]["n_responses"])
    check(f"training: {who} has that share", f"in {share:.1f} % of responses (5.0 % expected)" in words, words)
    q = float(judged[who]["deviance_p"])
    said = re.search(r"The whole map at once: p = (0\.\d+|1\.0)", words)
    check(f"training: {who} has the deviance of the table", said and abs(float(said[1]) / q - 1) <= 0.051, words)
order = [p["id"] for p in page.json["people"]]
asked = ["sub-0068", "sub-0001", "sub-0022", "sub-0001"]
page = Page("m.safetensors", "--scored", "scored", "--people", ",".join(asked))
check("cards: in the order in which they were asked for, each once", list(page.cards) == asked[:3], list(page.cards))
check("cards: words are those of the person", all(f"age {float(r['age']):g}," in page.cards[r["participant_id"]]
      for r in rows("s/test_participants.tsv") if r["participant_id"] in page.cards), page.cards)

# ---- by people of the folder -------------------------------------------------------------------------
run("score", "m.safetensors", *test, *label, "--reference", "group=control", "-o", "own")
page = Page("m.safetensors", "--scored", "own")
least_p_is_said("own reference", page, 1 / (len(normal) + 1))
check("own reference: who it is is said", f"against the people scored who are group=control, {len(normal)} of them" in page.warned["few"], page.warned)
check("own reference: those who are it are not expected to stand out", "abnormal" not in {**page.good, **page.warned})
check("own reference: it is named", all("of people like those with group=control" in w for w in page.cards.values()), page.cards)

# ---- by folds ----------------------------------------------------------------------------------------
run("cv", *train, "--folds", 4, "-o", "folds")
page = Page("folds")
n_train = [int(r["n_train"]) for r in rows("folds/folds.tsv")]
least_p_is_said("cv", page, 1 / (2 * (min(n_train) + 1)))
expected_range_is_said("cv", page, sum(math.floor(0.05 * (n + 1)) / (n + 1) for n in n_train) / len(n_train))

# ---- by visits ---------------------------------------------------------------------------------------
run("change", "m.safetensors", "-c", "s/visits_participants.tsv", "-y", "s/visits_regions.csv", "--visit", "session",
    "--reference", "group=control", "-o", "changed")
page = Page("m.safetensors", "--scored", "changed")
stable = json.load(open("changed/summary.json"))["reference_people"]
least_p_is_said("change", page, 1 / (stable + 1))
check("change: whom they are compared with", f"those of {stable} stable people" in page.warned["few"], page.warned)
check("change: no p can be .05, and none is expected", "abnormal" not in {**page.good, **page.warned}, page.good)

# ---- people of training ------------------------------------------------------------------------------
run("score", "m.safetensors", *train, "-o", "again")
page = Page("m.safetensors", "--scored", "again")
check("people of training: z of folds", "from folds without them" in page.warned["training"], page.warned)
check("people of training: judged as training, held out", all("of training" in {**page.good, **page.warned}[k] for k in ("calibration", "shift")))
check("people of training: not one calibrates", page.json["calibration"]["scored"] is None or page.json["calibration"]["scored"]["n"] == 0)
run("score", "m.safetensors", *train, "--training-rows", "plain", "-o", "plain")
page = Page("m.safetensors", "--scored", "plain")
check("predicted anew: they were seen", "by the model that has seen them" in page.warned["training"], page.warned)
check("predicted anew: on cards too", all("seen this person" in w for w in page.cards.values()), page.cards)

# ---- a few people ------------------------------------------------------------------------------------
people, regions = rows("s/test_participants.tsv"), rows("s/test_regions.csv")
for n in (1, 2):
    write("few.tsv", people[:n], people[0])
    write("few.csv", regions[:n], regions[0])
    run("score", "m.safetensors", "-c", "few.tsv", "-y", "few.csv", *(label if n == 2 else []), "-o", f"few{n}")
    page = Page("m.safetensors", "--scored", f"few{n}")
    check(f"{n}: nobody is praised but training", "abnormal" not in page.good and "of training (each held out in turn)" in page.good["calibration"], page.good)
    check(f"{n}: no band", all(v is None for v in (page.json["calibration"]["scored"] or {}).get("worm_low", [])))
    check(f"{n}: in the right number", not re.search(r"\b1 (people|others|responses)\b", page.methods + " ".join(page.cards.values())), page.methods)
check("2: nobody was tested by Welch", "Welch" not in page.methods, page.methods)

# ---- without ids, without people ---------------------------------------------------------------------
for part, table in (("train", rows("s/train_participants.tsv")), ("test", people)):
    write(f"{part}_x.csv", table, ["age", "sex", "site"])
    values = rows(f"s/{part}_regions.csv")
    write(f"{part}_y.csv", values, [c for c in values[0] if c != "participant_id"])
run("score", "m.safetensors", "-c", "test_x.csv", "-y", "test_y.csv", "-o", "rows")
check("no ids: nobody can be recognised", "training" not in Page("m.safetensors", "--scored", "rows").good)
run("export", "m.safetensors", "-o", "given.safetensors")
run("score", "given.safetensors", *test, "-o", "by_given")
page = Page("given.safetensors", "--scored", "by_given")
check("a model without people: nobody can be recognised", "training" not in page.good)
least_p_is_said("a model without people", page, 1 / (2 * (N + 1)))

# ---- rows that share noise ---------------------------------------------------------------------------
families = [{**r, "family": f"f{i // 2}"} for i, r in enumerate(rows("s/train_participants.tsv"))]
write("families.tsv", families, families[0])
run("fit", "-c", "families.tsv", "-y", "s/train_regions.csv", "--use", "age,sex,site", "--group", "family", "-o", "groups.safetensors")
page = Page("groups.safetensors")
h = page.json["zhist"]["training"]
pairs = [[sum(h[k][i:i + 2]) for k in ("sum", "sum2", "responses")] for i in range(0, N, 2)]
x2 = [s[1] / s[2] for s in pairs]
half = stats.t.ppf(0.975, len(x2) - 1) * stats.tstd(x2) / math.sqrt(len(x2))
c = page.json["calibration"]["training"]
check("groups: each counts once", c["n"] == N // 2 and abs(c["z2_high"] - c["z2_low"] - 2 * half) < 1e-9, c["n"])
check("groups: how many there are is said", f"{N} maps in {N // 2} groups" in page.json["summary"]["sentence"] and
      f"the {N // 2} groups of training" in {**page.good, **page.warned}["calibration"], page.good)
run("score", "groups.safetensors", *test, "-o", "by_groups")
page = Page("groups.safetensors", "--scored", "by_groups")
c, h = page.json["calibration"]["scored"], page.json["zhist"]["scored"]
x = [a / b for a, b in zip(h["sum"], h["responses"])]
half = stats.t.ppf(0.975, len(x) - 1) * stats.tstd(x) / math.sqrt(len(x)) * math.sqrt(1 + len(x) / (N // 2))
check("groups: training is a sample of groups", abs(c["mean_high"] - c["mean_low"] - 2 * half) < 1e-9, (c, half))

# ---- what models explain -----------------------------------------------------------------------------
for method, held_out in ((["--noise", "iso"], False), (["--method", "kronprod"], False), (["--method", "stgpr"], False), ([], True)):
    run("fit", *train, *method, "--force", "-o", "by.safetensors")
    page = Page("by.safetensors")
    R2, what = page.json["response"]["mean_R2"], " ".join(method) or "by default"
    run("cv", *train, *method, "--folds", 10, "--force", "-o", "by")
    true = json.load(open("by/summary.json"))["metrics"]["R2"]
    check(f"{what}: R2 is about that of people held out, or not told", abs(R2 - true) < 0.05 if held_out else R2 is None, (R2, true))
    check(f"{what}: which are best is told where it is known", bool(page.json["response"]["best"]) == held_out)

# ---- a model of few people: ranks --------------------------------------------------------------------
x, y = rows("s/train_participants.tsv")[:24], rows("s/train_regions.csv")[:24]
write("x24.tsv", x, x[0])
write("y24.csv", y, y[0])
run("fit", "-c", "x24.tsv", "-y", "y24.csv", "-o", "m24.safetensors")
run("score", "m24.safetensors", *test, *label, "-o", "by24")
page = Page("m24.safetensors", "--scored", "by24")
check("24 of training: p are ranks", "Its p is the rank among the statistics of the 24 training people" in page.methods, page.methods)
least_p_is_said("24 of training", page, json.load(open("by24/summary.json"))["abnormality"]["smallest_p"])
expected_range_is_said("24 of training", page, 1 / 25)

shutil.rmtree(folder)
print(f"{failures} failures")
sys.exit(failures > 0)
