# %% [markdown]
# # Normative modelling in Python, from a cohort to a page
#
#     python normative.py [FOLDER]
#
# or cell by cell in VS Code, Spyder or Jupyter (by jupytext). Simulated people: age, sex and site, and the thickness of 30
# regions. Files go to FOLDER, by default a temporary one. `make python` installs the package; numpy and pandas are needed
# besides, scikit-learn for one cell near the end, and matplotlib for one figure.

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

# %% [markdown]
# ## A cohort
# Thickness falls with age, differs between men and women and between scanners, and regions of one person vary together.

# %%
REGIONS = [f"region_{j + 1:02d}" for j in range(30)]
truth = np.random.default_rng(7)
OF_AGE, OF_SEX = truth.uniform(0.002, 0.008, 30), truth.normal(0, 0.03, 30)
OF_SITE = {site: truth.normal(0, 0.06, 30) for site in ("Bergen", "Oslo", "Rome", "Ulm")}
TOGETHER = truth.normal(0, 0.06, (3, 30))


def simulate(prefix, n, sites, seed):
    """Covariates and thickness of n healthy people; the index has their ids."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {"age": rng.uniform(18, 85, n).round(1), "sex": rng.choice(["F", "M"], n), "site": rng.choice(sites, n)},
        index=pd.Index([f"{prefix}-{i + 1:03d}" for i in range(n)], name="participant_id"))
    mean = 2.8 - np.outer(people["age"] - 20, OF_AGE) + np.outer(people["sex"] == "M", OF_SEX)
    mean += np.array([OF_SITE[site] for site in people["site"]])
    own = rng.normal(size=(n, 3)) @ TOGETHER + rng.normal(0, 0.12, (n, 30))
    return people, pd.DataFrame(mean + own, columns=REGIONS, index=people.index)


people, thickness = simulate("sub", 200, ["Bergen", "Oslo", "Rome"], seed=1)
print(people.head(3))

# %% [markdown]
# ## What is normal
# Healthy people only. Texts are categories. `batch` names those that new people may have further levels of.

# %%
model = kronorm.NormativeModel(batch="site").fit(people, thickness)
print(model, "has", model.n_components_, "components for", model.n_outputs_, "regions")

# %% [markdown]
# ## May it be believed?
# `cv_zscores_` are the z of the people above, each by a model that has not seen them. They should be standard normal.

# %%
z = model.cv_zscores_
print(f"held out: mean z {z.mean():.2f}, mean z^2 {(z ** 2).mean():.2f}, beyond 1.96: {100 * (abs(z) > 1.96).mean():.1f} %")

curves = model.centiles("age", at={"sex": "F"}, grid=20, targets=["region_01", "region_02"])
wide = curves[curves["response"] == "region_01"].pivot(index="age", columns="centile", values="value")
print(wide.iloc[[0, 10, 19]].round(2))

# %%
try:
    import matplotlib

    if "ipykernel" not in sys.modules:
        matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    print("no figure: there is no matplotlib")
else:
    figure, axes = plt.subplots()
    women = people["sex"] == "F"
    axes.scatter(people["age"][women], thickness["region_01"][women], s=8, color="grey")
    axes.plot(wide.index, wide.to_numpy())
    axes.set(xlabel="age", ylabel="thickness of region_01")
    figure.savefig(folder / "region_01.png")

# %% [markdown]
# ## New people
# 40 healthy ones, and 20 patients who have lost tissue in the first eight regions.

# %%
new, new_thickness = simulate("new", 60, ["Bergen", "Oslo", "Rome"], seed=2)
new["group"] = np.where(np.arange(60) < 40, "control", "patient")
new_thickness.iloc[40:, :8] -= 0.2

mean, std = model.predict(new, return_std=True)  # what is expected of them, and how far people are from it
print(f"{new.index[0]}: expected {mean[0, 0]:.2f} +- {std[0, 0]:.2f}, measured {new_thickness.iloc[0, 0]:.2f}")

# %% [markdown]
# **Who** is abnormal? A row a person. `p_upper` is of the most extreme regions, `deviance_p` of the pattern as a whole,
# `negative_p` of how many regions are low. docs/people.md says what each means, and which to choose before looking.

# %%
scores = model.scores(new, new_thickness, label="group=patient", maps=("z", "fdr"))
columns = ["group", "statistic", "p_upper", "deviance_p", "negative", "negative_p"]
print(scores.people.join(new["group"]).sort_values("negative_p")[columns].head(5).round(3))
found = scores.summary["AUC"]["negative"]
print(f"AUC of the number of low regions: {found['auc']:.2f} ({found['low']:.2f} to {found['high']:.2f})")
print("R2 of the healthy:", scores.responses.set_index("response")["R2"].head(3).round(2).to_dict())

# %% [markdown]
# **Where?** z of each region, here the mean of the patients and of the others.

# %%
z = pd.DataFrame(scores.z, columns=REGIONS, index=new.index)
print(z.groupby(new["group"]).mean().iloc[:, [0, 1, 2, 27, 28, 29]].round(1).to_string())

# %% [markdown]
# ## A site that training did not have
# Its people are refused: what the scanner does would be in every z. Some healthy people of that site teach the model.

# %%
clinic, clinic_thickness = simulate("ulm", 45, ["Ulm"], seed=3)
try:
    model.zscore(clinic, clinic_thickness)
except ValueError as error:
    print("refused:", error)
adapted = model.adapt(clinic[:15], clinic_thickness[:15])  # another model; the first stays as it is
z = adapted.zscore(clinic[15:], clinic_thickness[15:])
print(f"30 others of Ulm: mean z {z.mean():.2f}, mean z^2 {(z ** 2).mean():.2f}")

# %% [markdown]
# ## Has somebody changed?
# Two visits are compared with those of people who are stable. Ids repeat, and a column tells the visit.

# %%
first, first_thickness = simulate("visitor", 40, ["Bergen", "Oslo", "Rome"], seed=4)
first["session"], first["group"] = 1, np.where(np.arange(40) < 36, "control", "patient")
second = first.assign(session=2, age=first["age"] + 1)
noise = np.random.default_rng(5).normal(0, 0.05, first_thickness.shape)
second_thickness = first_thickness - OF_AGE + noise
second_thickness.iloc[36:] -= 0.1
visits, visits_thickness = pd.concat([first, second]), pd.concat([first_thickness, second_thickness])
changes = model.change(visits, visits_thickness, visit="session", reference="group=control")
patients = changes.table[changes.table["reference"] == 0]
print(patients[["person", "visit1", "visit2", "interval", "mean_z", "mean_z_p"]].round(3).to_string(index=False))

# %% [markdown]
# ## Keeping it
# The file is the command's too (`kronorm info model.safetensors`), and R's. It has covariates and ids of the training people
# in it; `export` makes one that has nobody.

# %%
model.save(folder / "model.safetensors", force=True)
same = kronorm.load(folder / "model.safetensors")
print("the same z from the file:", np.array_equal(same.zscore(new, new_thickness), scores.z))
error = model.export(folder / "shared.safetensors", force=True)
print(f"to give away: means are off by at most {error['mean']:.0e} standard deviations")

# %% [markdown]
# ## Among the tools of scikit-learn
# `score` is R2 there. `model.cv` is made for the question: z of everybody, and with `leave="site"` whole sites held out.

# %%
try:
    from sklearn.model_selection import GridSearchCV, KFold, cross_validate
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer
except ImportError:
    print("no pipeline: there is no scikit-learn")
else:
    folds = KFold(3, shuffle=True, random_state=1)
    print("R2 of three folds:", cross_validate(model, people, thickness, cv=folds)["test_score"].round(2))
    steps = Pipeline([("columns", FunctionTransformer(lambda X: X[["age", "sex", "site"]])),
                      ("norm", kronorm.NormativeModel(batch="site"))])
    search = GridSearchCV(steps, {"norm__components": [1, 3, 6]}, cv=folds).fit(people, thickness)
    print("chosen:", search.best_params_, "with R2", round(search.best_score_, 3))

held_out = kronorm.NormativeModel(batch="site", components=3).cv(people, thickness, leave="site")
print(held_out.sites[["site", "how", "n", "z2", "MSLL"]].round(2).to_string(index=False))

# %% [markdown]
# ## One page of all of it
# It opens in any browser, offline; docs/report.md says how to read it.

# %%
print(model.report(folder / "report.html", new, new_thickness, label="group=patient", force=True))
