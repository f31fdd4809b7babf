"""Maps of kronorm overlap against the z maps they are of, as nibabel reads both.

    overlap_maps.py Z OVERLAP ENDING TABLE: the groups are column `group` of TABLE, people those of scored_participants.tsv"""
import csv
import os
import sys

import nibabel as nib
import numpy as np

z_path, folder, ending, table = sys.argv[1:]


def rows(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f, delimiter="\t" if path.endswith(".tsv") else ","))


def data(path):
    image = nib.load(path)
    if hasattr(image, "agg_data"):
        return np.column_stack([a.data for a in image.darrays])
    return np.asarray(image.dataobj)


def close(name, expected):
    got = np.squeeze(data(f"{folder}/{name}{ending}"))
    assert got.shape == expected.shape, (name, got.shape, expected.shape)
    assert np.allclose(got, expected, atol=1e-6, equal_nan=True), name


z = np.squeeze(data(z_path))
group = {r["participant_id"]: r["group"] for r in rows(table)}
people = [r["participant_id"] for r in rows(os.path.dirname(z_path) + "/scored_participants.tsv") if r["status"] == "used"]
group = np.array([group[i] for i in people])
mask = (z != 0).any(-1)
share = {}
for g in np.unique(group):
    mine = z[..., group == g]
    n = np.isfinite(mine).sum(-1)
    close(f"overlap_{g}_n", np.where(mask, n, 0))
    for sign, beyond in ("low", mine < -1.96), ("high", mine > 1.96):
        with np.errstate(invalid="ignore"):
            share[g, sign] = beyond.sum(-1) / n
        close(f"overlap_{g}_{sign}", np.where(mask, share[g, sign], 0))
if len(np.unique(group)) == 2:
    first, second = np.unique(group)
    for sign in "low", "high":
        close(f"difference_{sign}", np.where(mask, share[second, sign] - share[first, sign], 0))
        for name in f"difference_{sign}_p", f"difference_{sign}_p_fdr":
            p = np.squeeze(data(f"{folder}/{name}{ending}"))
            assert (p[~mask] == 1).all() and (p[mask] > 0).all() and (p <= 1).all(), name
            # the larger the difference, the smaller the family-wise p
            if not name.endswith("fdr"):
                d = np.abs(share[second, sign] - share[first, sign])[mask]
                order = np.argsort(d)
                assert (np.diff(p[mask][order]) <= 0).all(), name
