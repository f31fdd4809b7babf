"""
Normative modelling in Python
=============================

This script fits a normative model to a simulated cohort, checks its calibration, scores patients, adapts the model to a new site,
tests for change between visits and writes a report. Run it as ``python normative.py [FOLDER]``, or cell by cell in VS Code, Spyder or
Jupyter (with jupytext). Files go to FOLDER, by default a temporary one. ``make python`` installs the package. The script also needs
numpy and pandas, scikit-learn for one cell and matplotlib for the figure.
"""

# %%
import pathlib
import sys
import tempfile

import kronorm
import numpy as np
import pandas as pd

given = [word for word in sys.argv[1:] if "ipykernel" not in sys.argv[0]]
folder = pathlib.Path(given[0] if given else tempfile.mkdtemp(prefix="normative-"))
folder.mkdir(exist_ok=True)
print("kronorm", kronorm.__version__)

# %%
# Simulate a cohort
# -----------------
# Thickness decreases with age and differs by sex and by site, and the regions of a participant are correlated.

REGIONS = [f"region_{j + 1:02d}" for j in range(30)]
truth = np.random.default_rng(7)
AGE_EFFECT, SEX_EFFECT = truth.uniform(0.002, 0.008, 30), truth.normal(0, 0.03, 30)
SITE_EFFECT = {site: truth.normal(0, 0.06, 30) for site in ("Bergen", "Oslo", "Rome", "Ulm")}
SHARED = truth.normal(0, 0.06, (3, 30))


def simulate(prefix, n, sites, seed):
    """Covariates and thickness of n healthy participants; the index has their ids."""
    rng = np.random.default_rng(seed)
    participants = pd.DataFrame(
        {"age": rng.uniform(18, 85, n).round(1), "sex": rng.choice(["F", "M"], n), "site": rng.choice(sites, n)},
        index=pd.Index([f"{prefix}-{i + 1:03d}" for i in range(n)], name="participant_id"))
    mean = 2.8 - np.outer(participants["age"] - 20, AGE_EFFECT) + np.outer(participants["sex"] == "M", SEX_EFFECT)
    mean += np.array([SITE_EFFECT[site] for site in participants["site"]])
    own = rng.normal(size=(n, 3)) @ SHARED + rng.normal(0, 0.12, (n, 30))
    return participants, pd.DataFrame(mean + own, columns=REGIONS, index=participants.index)


participants, thickness = simulate("sub", 200, ["Bergen", "Oslo", "Rome"], seed=1)
print(participants.head(3))

# %%
# Fit the model
# -------------
# The training sample contains healthy participants only. Text columns are categorical. ``batch`` names the categorical covariates
# that may take new values in new participants.

model = kronorm.NormativeModel(batch="site").fit(participants, thickness)
print(model, "has", model.n_components_, "components for", model.n_outputs_, "regions")

# %%
# Check the calibration
# ---------------------
# ``cv_zscores_`` are the cross-validated z-scores of the training sample. They should be standard normal.

z = model.cv_zscores_
print(f"cross-validated: mean z {z.mean():.2f}, mean z^2 {(z ** 2).mean():.2f}, |z| > 1.96 in {100 * (abs(z) > 1.96).mean():.1f}%")

curves = model.centiles("age", at={"sex": "F"}, grid=20, targets=["region_01", "region_02"])
by_centile = curves[curves["response"] == "region_01"].pivot(index="age", columns="centile", values="value")
print(by_centile.iloc[[0, 10, 19]].round(2))

# %%
try:
    import matplotlib

    if "ipykernel" not in sys.modules:
        matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    print("no figure: matplotlib is not installed")
else:
    figure, axes = plt.subplots()
    women = participants["sex"] == "F"
    axes.scatter(participants["age"][women], thickness["region_01"][women], s=8, color="grey")
    axes.plot(by_centile.index, by_centile.to_numpy())
    axes.set(xlabel="age", ylabel="thickness of region_01")
    figure.savefig(folder / "region_01.png")

# %%
# Score new participants
# ----------------------
# The new sample has 40 healthy participants, and 20 patients with a loss in the first eight regions.

new, new_thickness = simulate("new", 60, ["Bergen", "Oslo", "Rome"], seed=2)
new["group"] = np.where(np.arange(60) < 40, "control", "patient")
new_thickness.iloc[40:, :8] -= 0.2

mean, std = model.predict(new, return_std=True)  # predictive mean and total standard deviation
print(f"{new.index[0]}: predicted {mean[0, 0]:.2f} +- {std[0, 0]:.2f}, measured {new_thickness.iloc[0, 0]:.2f}")

# %%
# ``extreme_z_p`` is the p-value of the most extreme regions, ``deviance_p`` of the whole map, and ``n_low_p`` of the number of low
# regions. docs/explanation/interpreting.md explains each of them. Choose one before you look at the results.

scores = model.scores(new, new_thickness, cases="group=patient", maps=("z", "fdr"))
columns = ["group", "extreme_z", "extreme_z_p", "deviance_p", "n_low", "n_low_p"]
print(scores.participants.join(new["group"]).sort_values("n_low_p")[columns].head(5).round(3))
found = scores.summary["AUC"]["n_low"]
print(f"AUC of the number of low regions: {found['auc']:.2f} ({found['low']:.2f} to {found['high']:.2f})")
print("R2 of the controls:", scores.responses.set_index("response")["R2"].head(3).round(2).to_dict())

# %%
# The mean z-score of each region in patients and controls:

z = pd.DataFrame(scores.z, columns=REGIONS, index=new.index)
print(z.groupby(new["group"]).mean().iloc[:, [0, 1, 2, 27, 28, 29]].round(1).to_string())

# %%
# Adapt the model to a new site
# -----------------------------
# Participants from an unknown site are rejected, because the site effect would be part of every z-score. Healthy controls from the
# new site adapt the model.

clinic, clinic_thickness = simulate("ulm", 45, ["Ulm"], seed=3)
try:
    model.zscore(clinic, clinic_thickness)
except ValueError as error:
    print("error:", error)
adapted = model.adapt(clinic[:15], clinic_thickness[:15])  # a new model; the first one is not changed
z = adapted.zscore(clinic[15:], clinic_thickness[15:])
print(f"30 other participants from Ulm: mean z {z.mean():.2f}, mean z^2 {(z ** 2).mean():.2f}")

# %%
# Test for change between visits
# ------------------------------
# Two visits of each participant are compared with those of stable participants. Ids repeat, and a column names the visit.

first, first_thickness = simulate("visitor", 40, ["Bergen", "Oslo", "Rome"], seed=4)
first["session"], first["group"] = 1, np.where(np.arange(40) < 36, "control", "patient")
second = first.assign(session=2, age=first["age"] + 1)
noise = np.random.default_rng(5).normal(0, 0.05, first_thickness.shape)
second_thickness = first_thickness - AGE_EFFECT + noise
second_thickness.iloc[36:] -= 0.1
visits, visits_thickness = pd.concat([first, second]), pd.concat([first_thickness, second_thickness])
changes = model.change(visits, visits_thickness, visit="session", reference="group=control")
patients = changes.table[changes.table["reference"] == 0]
print(patients[["participant_id", "visit1", "visit2", "interval", "mean_z", "mean_z_p"]].round(3).to_string(index=False))

# %%
# Save and share the model
# ------------------------
# The command (``kronorm info model.safetensors``) and R read the same file. It contains covariates and ids of the training sample;
# ``export`` writes a model without individual data.

model.save(folder / "model.safetensors", force=True)
same = kronorm.load(folder / "model.safetensors")
print("same z-scores from the file:", np.array_equal(same.zscore(new, new_thickness), scores.z))
error = model.export(folder / "shared.safetensors", force=True)
print(f"shared model: means differ by at most {error['mean']:.0e} standard deviations")

# %%
# Use scikit-learn
# ----------------
# ``score`` is the R2. ``model.cv`` is made for normative models: it returns held-out z-scores of every participant, and with
# ``leave_out="site"`` it holds out one site at a time.

try:
    from sklearn.model_selection import GridSearchCV, KFold, cross_validate
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer
except ImportError:
    print("no pipeline: scikit-learn is not installed")
else:
    folds = KFold(3, shuffle=True, random_state=1)
    print("R2 in three folds:", cross_validate(model, participants, thickness, cv=folds)["test_score"].round(2))
    steps = Pipeline([("columns", FunctionTransformer(lambda X: X[["age", "sex", "site"]])),
                      ("norm", kronorm.NormativeModel(batch="site"))])
    search = GridSearchCV(steps, {"norm__components": [1, 3, 6]}, cv=folds).fit(participants, thickness)
    print("chosen:", search.best_params_, "with R2", round(search.best_score_, 3))

held_out = kronorm.NormativeModel(batch="site", components=3).cv(participants, thickness, leave_out="site")
print(held_out.sites[["site", "how", "n", "z2", "MSLL"]].round(2).to_string(index=False))

# %%
# Write a report
# --------------
# The report is an HTML page for any browser, offline; docs/reference/report.md explains it.

print(model.report(folder / "report.html", new, new_thickness, cases="group=patient", force=True))
