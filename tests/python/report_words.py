"""Are the sentences of `kronorm report` true? One small study, told in many ways: by training, by people of the folder,
by folds, by visits; without ids, without people, with one person or two, and with those of training.

    report_words.py KRONORM"""

import csv
import json
import math
import os
import re
import shutil
import statistics
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
        self.warned, self.good, self.noted = ({n["code"]: n["words"] for n in s[k]} for k in ("warnings", "good", "notes"))
        self.results = self.json["words"]["results"] or ""
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
    said = re.search(r"The smallest possible p-value is (0\.\d+)", page.noted["few"])
    check(f"{what}: the least p", said and abs(float(said[1]) / least - 1) < 0.06, page.noted["few"])
    check(f"{what}: ... which is a note, not a warning", "few" not in page.warned, page.warned)
    check(f"{what}: ... and nobody has less", all(p["extreme_z_p"] is None or p["extreme_z_p"] >= least * (1 - 1e-6) for p in page.json["people"]))


def expected_range_is_said(what, page, rate):
    a = page.json["abnormality"]
    law = stats.binom(a["flagged_of"], rate)
    low = min(k for k in range(a["flagged_of"] + 1) if law.cdf(k) > 0.025)
    high = min(k for k in range(a["flagged_of"] + 1) if law.cdf(k) >= 0.975)
    words = page.good.get("abnormal") or page.warned.get("abnormal", "")
    check(f"{what}: how many are expected", f"{low} to {high}" in words, words)


def attained_p_is_said(what, page, folder, smallest):
    """The cards print "≤" before the smallest p that is attained, "=" before every other, and "<" never."""
    table = {r["participant_id"]: r for r in rows(f"{folder}/abnormality.tsv")}
    for who, words in page.cards.items():
        least = smallest(table[who])
        for column, text in (("extreme_z_p", r"Extreme values: p ([<=≤]) "), ("deviance_p", r"Whole-map deviance: p ([<=≤]) ")):
            said = re.search(text, words)
            sign = "≤" if abs(float(table[who][column]) / least - 1) < 1e-6 else "="
            check(f"{what}: {who} has the sign of {column}", said and said[1] == sign, (words, table[who][column], least))
    check(f"{what}: somebody has the smallest p", any("p ≤" in w for w in page.cards.values()), page.cards)


run("simulate", "--samples", 60, "--patients", 8, "--visits", 2, "--regions", 24, "--seed", 5, "-o", "s")
train, test = ["-c", "s/train_participants.tsv", "-y", "s/train_regions.csv"], ["-c", "s/test_participants.tsv", "-y", "s/test_regions.csv"]
N = len(rows("s/train_participants.tsv"))
label = ["--cases", "group=patient"]
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
check("training: of whom it is told", f"the {len(normal)} participants without the cases" in page.good["calibration"], page.good)
for who, words in page.cards.items():
    p = float(judged[who]["extreme_z_p"])
    said = re.search(r"Extreme values: p ([<=]) (0\.\d+)( \(approximate\))?, from an extreme-value distribution fitted to the reference sample\.", words)
    check(f"training: {who} has the p of the table", said and
          (said[1] == "<") == (judged[who]["p_note"] == "bound") and
          abs(float(said[2]) - p) <= (0.1 if said[1] == "<" else 0.051) * p + 1e-9, words)
    if said and said[1] == "<":
        check(f"training: {who} is not said to be rarer than that", float(said[2]) >= p, words)
    share = 100 * (int(judged[who]["n_low"]) + int(judged[who]["n_high"])) / int(judged[who]["n_responses"])
    check(f"training: {who} has that share", f"|z| > 1.96 in {share:.1f}% of responses (5.0% on average)" in words, words)
    q = float(judged[who]["deviance_p"])
    said = re.search(r"Whole-map deviance: p ([=≤]) (0\.\d+|1\.0)", words)
    check(f"training: {who} has the deviance of the table", said and abs(float(said[2]) / q - 1) <= 0.051, words)
    check(f"training: {who} has the sign of the smallest rank", said and (said[1] == "≤") == (abs(q * (N + 1) - 1) < 1e-6), (words, q))
order = [p["id"] for p in page.json["people"]]
asked = ["sub-0068", "sub-0001", "sub-0022", "sub-0001"]
page = Page("m.safetensors", "--scored", "scored", "--people", ",".join(asked))
check("cards: in the order in which they were asked for, each once", list(page.cards) == asked[:3], list(page.cards))
check("cards: words are those of the person", all(f"age {float(r['age']):g}," in page.cards[r["participant_id"]]
      for r in rows("s/test_participants.tsv") if r["participant_id"] in page.cards), page.cards)

# ---- the methods text and the results: every number from the tables of the study and of the folder ------
def figures(x, digits=3):
    """As the report prints a number with significant digits."""
    after = max(0, digits - 1 - math.floor(math.log10(abs(x)))) if x else 0
    return f"{x:.{after}f}"


def characteristics(table):
    ages = [float(r["age"]) for r in table]
    numbers = [figures(f(ages)) for f in (statistics.mean, statistics.stdev, min, max)]
    levels = lambda name: ", ".join(f"{sum(r[name] == v for r in table)} {v}" for v in sorted({r[name] for r in table}))
    return f"(age: mean {numbers[0]}, SD {numbers[1]}, range {numbers[2]} to {numbers[3]}; sex: {levels('sex')}; site: {levels('site')})"


summary = json.load(open("scored/summary.json"))
train_table, test_table = rows("s/train_participants.tsv"), rows("s/test_participants.tsv")
groups = {g: [r for r in test_table if (r["group"] == "patient") == (g == "cases")] for g in ("cases", "others")}
check("methods: the training sample", f"fitted to {N} participants {characteristics(train_table)} with kronorm" in page.methods, page.methods)
check("methods: the scored participants", f"{len(groups['cases'])} with group=patient {characteristics(groups['cases'])} and {len(groups['others'])} other participants "
      f"{characteristics(groups['others'])}." in page.methods, page.methods)
cases = [r for r in judged.values() if r["label"] == "1"]
counts = {g: (sum(float(r["deviance_p"]) <= 0.05 for r in t), len(t)) for g, t in (("cases", cases), ("controls", normal))}
law = stats.binom(len(normal), math.floor(0.05 * (N + 1)) / (N + 1))
expected = [min(k for k in range(len(normal) + 1) if law.cdf(k) > 0.025), min(k for k in range(len(normal) + 1) if law.cdf(k) >= 0.975)]
words = [f"{k} of {n} ({100 * k / n:.1f}%)" for k, n in (counts["cases"], counts["controls"])]
check("results: flagged in each group", f"significant (p ≤ 0.05) in {words[0]} participants with group=patient and in {words[1]} other participants, "
      f"where {expected[0]} to {expected[1]} are expected by chance." in page.results, page.results)
a = page.json["abnormality"]
check("... as in the tiles", (a["cases_flagged"], (a["flagged"], a["flagged_of"])) == ({"found": counts["cases"][0], "of": counts["cases"][1]}, counts["controls"]), a)
of_cases = stats.binom(len(cases), math.floor(0.05 * (N + 1)) / (N + 1))
by_chance = [min(k for k in range(len(cases) + 1) if of_cases.cdf(k) > 0.025), min(k for k in range(len(cases) + 1) if of_cases.cdf(k) >= 0.975)]
check("... where the cases have a number expected by chance too", [a["cases_expected_low"], a["cases_expected_high"]] == by_chance, a)
run("report", "m.safetensors", "--scored", "scored", "-o", "scored.html")
tile = f"group=patient flagged</dt><dd>{counts['cases'][0]} <small>/ {counts['cases'][1]} ({by_chance[0]} to {by_chance[1]} expected by chance)</small>"
check("... in its tile", tile in open("scored.html", encoding="utf-8").read(), tile)
for key, t in (("extreme_cases", cases), ("extreme_controls", normal)):
    check(f"results: {key}", a[key] == {"found": sum(float(r["extreme_z_p"]) <= 0.05 for r in t), "of": len(t)}, a[key])
z = {r["participant_id"]: [float(v) for k, v in r.items() if k != "participant_id"] for r in rows("scored/z.csv")}
of_normal = [z[r["participant_id"]] for r in normal]
z2 = statistics.mean(statistics.mean(v * v for v in map_) for map_ in of_normal)
inside = statistics.mean(statistics.mean(int(abs(v) <= 1.959963984540054) for v in map_) for map_ in of_normal)
c = page.json["calibration"]["scored"]
check("results: calibration", f"In the {len(normal)} other participants, mean z squared was {z2:.2f} (95% CI {c['z2_low']:.2f} to {c['z2_high']:.2f}; "
      f"expected 1) and {100 * inside:.1f}% of z-scores lay within the central 95% interval." in page.results, page.results)
R2, MSLL = (statistics.mean(float(r[k]) for r in rows("scored/metrics.tsv")) for k in ("R2", "MSLL"))
check("results: accuracy", f"Out-of-sample R² was {R2:.2f} and the mean standardised log loss {MSLL:.3f}, averaged over 24 responses." in page.results, page.results)
for name, key in (("extreme values", "extreme_z"), ("whole-map deviance", "deviance")):
    auc = summary["AUC"][key]
    brute = statistics.mean((float(x[key]) > float(y[key])) + (x[key] == y[key]) / 2 for x in cases for y in normal)
    check(f"results: AUC of {name}", re.search(re.escape(f"{brute:.2f} for {name} (") + r"(95% CI )?" + re.escape(f"{auc['low']:.2f} to {auc['high']:.2f})"), page.results),
          page.results)
burden = lambda t: statistics.median((int(r["n_low"]) + int(r["n_high"])) / int(r["n_responses"]) for r in t)
check("results: burden", f"was {100 * burden(cases):.1f}% with group=patient and {100 * burden(normal):.1f}% in the other participants (Mann-Whitney p " in page.results, page.results)
check("results: responses", f"After FDR correction, {page.json['group']['n_significant']} of 24 responses differed between the groups." in page.results, page.results)

# ---- by people of the folder -------------------------------------------------------------------------
run("score", "m.safetensors", *test, *label, "--reference", "group=control", "-o", "own")
page = Page("m.safetensors", "--scored", "own")
least_p_is_said("own reference", page, 1 / (len(normal) + 1))
check("own reference: who it is is said", f"The reference sample has {len(normal)} scored participants with group=control" in page.noted["few"], page.noted)
check("own reference: those who are it are not expected to stand out", "abnormal" not in {**page.good, **page.warned})
check("own reference: it is named", all("by comparison with participants with group=control" in w for w in page.cards.values()), page.cards)
attained_p_is_said("own reference", page, "own", lambda r: 1 / (len(normal) + int(r["label"])))

# ---- at an unknown site ------------------------------------------------------------------------------
write("unknown.tsv", [{**r, "site": "elsewhere"} for r in rows("s/test_participants.tsv")], test_table[0])
run("score", "m.safetensors", "-c", "unknown.tsv", "-y", "s/test_regions.csv", *label, "--unseen", "prior", "-o", "unknown")
sites = len({r["site"] for r in train_table})
page = Page("m.safetensors", "--scored", "unknown")
attained_p_is_said("unknown site", page, "unknown", lambda r: 1 / (sites + 1))
in_note = re.search(r"For the (\d+) participants from sites outside the training sample, p-values are at least (0\.\d+)", page.noted["few"])
check("unknown site: the note names that floor", in_note and int(in_note[1]) == len(test_table) and abs(float(in_note[2]) * (sites + 1) - 1) < 0.06, page.noted)

# ---- each site left out ------------------------------------------------------------------------------
run("cv", *train, "--leave-out", "site", "-o", "left_out")
page = Page("left_out")
attained_p_is_said("cv by site", page, "left_out", lambda r: 1 / sites)
check("cv by site: the number of training sites is in the table", {r["n_sites"] for r in rows("left_out/folds.tsv")} == {str(sites - 1)}, rows("left_out/folds.tsv")[0])
check("cv by site: the methods text", f"{N} participants {characteristics(train_table)} were scored on 24 responses with kronorm" in page.methods
      and "(leave-one-site-out cross-validation). The models were fitted by scalable multi-task Gaussian process regression" in page.methods, page.methods)
check("cv by site: the note names the floor", f"p-values are at least {1 / sites:.2f}" in page.noted["few"], page.noted)

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
stable = json.load(open("changed/summary.json"))["reference_participants"]
least_p_is_said("change", page, 1 / (stable + 1))
check("change: whom they are compared with", f"those of {stable} stable participants" in page.noted["few"], page.noted)
check("change: no p can be .05, and none is expected", "abnormal" not in {**page.good, **page.warned}, page.good)
pairs = {f"{r['participant_id']} {r['visit1']} to {r['visit2']}": r for r in rows("changed/change.tsv")}
for who, words in page.cards.items():
    said = re.search(r" Mean z² of the change: p [=≤] (0\.\d+|1\.0)\.", words)
    check(f"change: {who} has the p of the table", said and abs(float(said[1]) / float(pairs[who]["mean_z2_p"]) - 1) <= 0.051, words)

run("simulate", "--samples", 180, "--patients", 20, "--strength", 3, "--visits", 2, "--regions", 30, "--seed", 5, "-o", "l")
run("fit", "-c", "l/train_participants.tsv", "-y", "l/train_regions.csv", "-o", "l.safetensors")
run("change", "l.safetensors", "-c", "l/visits_participants.tsv", "-y", "l/visits_regions.csv", "--visit", "session",
    "--reference", "group=control", "-o", "large")
page = Page("l.safetensors", "--scored", "large")
others = [r for r in rows("large/change.tsv") if r["reference"] == "0"]
found = sum(float(r["mean_z2_p"]) <= 0.05 for r in others)
check("change: flagged pairs", f"Mean z² of the change was significant (p ≤ 0.05) in {found} of {len(others)} ({100 * found / len(others):.1f}%) pairs of visits, where " in page.results, page.results)
check("change: who is flagged is said", "Pairs of visits with p ≤ 0.05 for the mean z² of the change were flagged." in page.methods, page.methods)
check("change: the column is that count", found == sum(r["flagged"] == "1" for r in others))
run("report", "l.safetensors", "--scored", "large", "-o", "large.html")
html = open("large.html", encoding="utf-8").read()
check("change: no statistic of the page is called a Mahalanobis distance", "Mahalanobis" not in html and "hole-map deviance" not in html)
check("change: the page says what is flagged", "Flagged: mean z² of the change (mean squared z-score over all responses) with p ≤ 0.05." in html)
check("change: ... in each of its places", all(t in html for t in ("<dt>Mean z²</dt><dd>mean squared z-score of the change", "<dt>Mean z² of the change</dt>", f"Mean z² of the change (flagged): {found}/{len(others)} ")))

# ---- people of training ------------------------------------------------------------------------------
run("score", "m.safetensors", *train, "-o", "again")
page = Page("m.safetensors", "--scored", "again")
check("people of training: z of folds", "from folds without them" in page.warned["training"], page.warned)
check("people of training: judged as training, held out", all("training participants (each held out in turn)" in {**page.good, **page.warned}[k] for k in ("calibration", "shift")))
check("people of training: not one calibrates", page.json["calibration"]["scored"] is None or page.json["calibration"]["scored"]["n"] == 0)
run("score", "m.safetensors", *train, "--training-rows", "plain", "-o", "plain")
page = Page("m.safetensors", "--scored", "plain")
check("predicted anew: they were seen", "from the model fitted to them" in page.warned["training"], page.warned)
check("predicted anew: on cards too", all("fitted to this participant" in w for w in page.cards.values()), page.cards)

# ---- a few people ------------------------------------------------------------------------------------
people, regions = rows("s/test_participants.tsv"), rows("s/test_regions.csv")
for n in (1, 2):
    write("few.tsv", people[:n], people[0])
    write("few.csv", regions[:n], regions[0])
    run("score", "m.safetensors", "-c", "few.tsv", "-y", "few.csv", *(label if n == 2 else []), "-o", f"few{n}")
    page = Page("m.safetensors", "--scored", f"few{n}")
    check(f"{n}: nobody is praised but training", "abnormal" not in page.good and "training participants (each held out in turn)" in page.good["calibration"], page.good)
    check(f"{n}: no band", all(v is None for v in (page.json["calibration"]["scored"] or {}).get("worm_low", [])))
    check(f"{n}: in the right number", not re.search(r"(?<![.\d])\b1 (participants|others|responses|regions)\b", page.methods + " " + page.results + " ".join(page.cards.values())), page.methods)
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
      f"the {N // 2} training groups" in {**page.good, **page.warned}["calibration"], page.good)
run("score", "groups.safetensors", *test, "-o", "by_groups")
page = Page("groups.safetensors", "--scored", "by_groups")
c, h = page.json["calibration"]["scored"], page.json["zhist"]["scored"]
x = [a / b for a, b in zip(h["sum"], h["responses"])]
half = stats.t.ppf(0.975, len(x) - 1) * stats.tstd(x) / math.sqrt(len(x)) * math.sqrt(1 + len(x) / (N // 2))
check("groups: training is a sample of groups", abs(c["mean_high"] - c["mean_low"] - 2 * half) < 1e-9, (c, half))

# ---- what models explain -----------------------------------------------------------------------------
for method in ["--noise", "iso"], ["--method", "kronprod"], ["--method", "stgpr"], []:
    run("fit", *train, *method, "--force", "-o", "by.safetensors")
    page = Page("by.safetensors")
    R2, what = page.json["response"]["mean_R2"], " ".join(method) or "by default"
    run("cv", *train, *method, "--folds", 10, "--force", "-o", "by")
    true = json.load(open("by/summary.json"))["metrics"]["R2"]
    check(f"{what}: R2 is about that of people held out", abs(R2 - true) < 0.05, (R2, true))
    some = [x for x in page.json["response"]["R2"] if x > 0]
    check(f"{what}: responses with R2 above 0 are called the best", len(page.json["response"]["best"]) == min(20, len(some)))

# ---- a model of few people: ranks --------------------------------------------------------------------
x, y = rows("s/train_participants.tsv")[:24], rows("s/train_regions.csv")[:24]
write("x24.tsv", x, x[0])
write("y24.csv", y, y[0])
run("fit", "-c", "x24.tsv", "-y", "y24.csv", "-o", "m24.safetensors")
run("score", "m24.safetensors", *test, *label, "-o", "by24")
page = Page("m24.safetensors", "--scored", "by24")
check("24 of training: p are ranks", "Its p-value was computed from the rank among the cross-validated statistics of the 24 training participants" in page.methods, page.methods)
least_p_is_said("24 of training", page, json.load(open("by24/summary.json"))["abnormality"]["smallest_p"])
expected_range_is_said("24 of training", page, 1 / 25)

shutil.rmtree(folder)
print(f"{failures} failures")
sys.exit(failures > 0)
