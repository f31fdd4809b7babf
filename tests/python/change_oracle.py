"""Change between visits, slowly: from predictions of kronorm predict and the values of visits, by METHOD 8g.

    change_oracle.py visits.csv predicted changed

predicted holds yhat.csv and ys2_noise.csv of every visit; changed is what kronorm change wrote, with the controls of
visits.csv as its reference. Maps are float32, so z agree to 2e-4."""
import csv
import sys

import numpy as np
from scipy import optimize, special, stats


def rows(path, separator=","):
    return list(csv.DictReader(open(path), delimiter=separator))


def squeeze(q, df):
    e = np.log(q) - special.digamma(df / 2) + np.log(df / 2)
    v = e.var(ddof=1) - special.polygamma(1, df / 2)
    if v <= 0:
        return np.inf, np.exp(e.mean())
    d0 = 2 * optimize.brentq(lambda x: special.polygamma(1, x) - v, 1e-3, 1e7)
    return d0, np.exp(e.mean() + special.digamma(d0 / 2) - np.log(d0 / 2))


def change(r1, r2, new1, new2, noise, conditional):
    """z of a new pair, given pairs of stable people."""
    n, d = len(r1), r2 - r1
    m1 = r1.mean(0) if conditional else 0 * noise
    x = r1 - m1
    gamma = np.clip((x * (d - d.mean(0)) / noise).sum() / (x * x / noise).sum(), -1, 0) if conditional else 0.0
    df = n - 1 if conditional else n
    q = ((d - gamma * x) ** 2).sum(0) / ((n - 0.5 if conditional else n) * noise)
    d0, s0 = squeeze(q, df)
    q = np.full_like(q, s0) if np.isinf(d0) else (d0 * s0 + df * q) / (d0 + df)
    t = (new2 - new1 - gamma * (new1 - m1)) / np.sqrt(noise * q * (1 + gamma ** 2 / n))
    return t if np.isinf(d0) else np.sign(t) * -stats.norm.ppf(stats.t.sf(abs(t), d0 + df))


visits, predicted, changed = sys.argv[1:]
table, yhat = rows(visits), {r["participant_id"]: r for r in rows(f"{predicted}/yhat.csv")}
names = [k for k in table[0] if k.startswith("r")]
noise = np.array([float(rows(f"{predicted}/ys2_noise.csv")[0][k]) for k in names])
residual, controls = {}, []
for r in table:
    expected = yhat[f"{r['participant_id']}_{r['session']}"]
    residual[r["participant_id"], r["session"]] = np.array([float(r[k]) - float(expected[k]) for k in names])
    if r["group"] == "control" and r["session"] == "ses-1":
        controls.append(r["participant_id"])
first = np.array([residual[c, "ses-1"] for c in controls])
second = np.array([residual[c, "ses-2"] for c in controls])
conditional = len(controls) >= 8

told, maps, worst, value = rows(f"{changed}/change.tsv", "\t"), rows(f"{changed}/change_z.csv"), 0, []
assert len(told) == len(maps)
for t, m in zip(told, maps):
    assert m["participant_id"] == f"{t['participant_id']}_{t['visit1']}_{t['visit2']}", m["participant_id"]
    others = np.array([c != t["participant_id"] for c in controls])
    assert (t["reference"] == "1") == (not others.all()), t
    z = change(first[others], second[others], residual[t["participant_id"], t["visit1"]], residual[t["participant_id"], t["visit2"]],
               noise, conditional)
    worst = max(worst, abs(z - [float(m[k]) for k in names]).max())
    value.append([np.sort(abs(z))[-1:].mean(), z.mean(), (z < -1.96).sum(), (z > 1.96).sum(), (z ** 2).mean()])
value = np.array(value)
assert worst < 2e-4, worst
own = np.array([t["reference"] == "1" for t in told])
for k, name in enumerate(["extreme_z", "mean_z", "n_low", "n_high", "mean_z2"]):
    x = abs(value[:, k]) if name == "mean_z" else value[:, k]
    for i, t in enumerate(told):
        assert abs(float(t[name]) - value[i, k]) < 1e-3, (name, t)
        others = own & (np.arange(len(told)) != i)
        p = (1 + (x[others] >= x[i]).sum()) / (others.sum() + 1)
        assert abs(float(t[name + "_p"]) - p) < 1e-9, (name, t, p)
print("worst", worst)
