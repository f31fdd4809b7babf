"""Files for tests/cli/bases.sh, made with nibabel, and its oracle, scipy's eigsh.

    bases.py make                       people.csv, a surface, labels and volumes of 40 people
    bases.py harmonics MODEL SURF K     the model's basis spans the eigenmodes that eigsh finds
    bases.py columns MODEL P            the model's basis has P orthonormal columns
    bases.py alike A B                  two folders of scores have the same z
"""

import csv
import json
import sys

import nibabel as nib
import numpy as np

N = 40


def sphere(times):
    g = (1 + 5 ** 0.5) / 2
    x = np.array([[-1, g, 0], [1, g, 0], [-1, -g, 0], [1, -g, 0], [0, -1, g], [0, 1, g], [0, -1, -g], [0, 1, -g],
                  [g, 0, -1], [g, 0, 1], [-g, 0, -1], [-g, 0, 1]])
    f = np.array([[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2],
                  [10, 7, 6], [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5],
                  [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1]])
    for _ in range(times):
        edges = np.sort(np.vstack([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]]), axis=1)
        unique, inverse = np.unique(edges, axis=0, return_inverse=True)
        a, b, c = (len(x) + inverse.ravel()).reshape(3, -1)
        x = np.vstack([x, x[unique].mean(1)])
        f = np.vstack([np.c_[f[:, 0], a, c], np.c_[f[:, 1], b, a], np.c_[f[:, 2], c, b], np.c_[a, b, c]])
        x /= np.linalg.norm(x, axis=1)[:, None]
    return x, f


def surface(x, f, name, point="NIFTI_INTENT_POINTSET"):
    arrays = [nib.gifti.GiftiDataArray(x.astype("f4"), intent=point, datatype="NIFTI_TYPE_FLOAT32"),
              nib.gifti.GiftiDataArray(f.astype("i4"), intent="NIFTI_INTENT_TRIANGLE", datatype="NIFTI_TYPE_INT32")]
    nib.save(nib.GiftiImage(darrays=arrays), name)


def labels(v, name, unknown=None):
    table = nib.gifti.GiftiLabelTable()
    for key in np.unique(v):
        label = nib.gifti.GiftiLabel(key=int(key))
        label.label = "???" if key == unknown else f"region{key}"
        table.labels.append(label)
    array = nib.gifti.GiftiDataArray(v.astype("i4"), intent="NIFTI_INTENT_LABEL", datatype="NIFTI_TYPE_INT32")
    nib.save(nib.GiftiImage(darrays=[array], labeltable=table), name)


def maps(y, name):
    nib.save(nib.GiftiImage(darrays=[nib.gifti.GiftiDataArray(v.astype("f4"), intent="NIFTI_INTENT_SHAPE",
                                                             datatype="NIFTI_TYPE_FLOAT32") for v in y]), name)


def make():
    rng = np.random.default_rng(3)
    age = rng.uniform(20, 80, N)
    with open("people.csv", "w", newline="") as out:
        w = csv.writer(out, lineterminator="\n")
        w.writerow(["age"])
        w.writerows([[f"{a:.3f}"] for a in age])
    x, f = sphere(3)
    n = len(x)
    waves = np.c_[np.ones(n), x, x[:, 0] * x[:, 1], x[:, 1] * x[:, 2]]
    y = 3 + (age - 50)[:, None] / 15 * (1 + x[:, 0]) / 2 + rng.normal(size=(N, 6)) @ waves.T * .5 \
        + .3 * rng.normal(size=(N, n))
    y[:, x[:, 2] < -.9] = 0
    inside = x[:, 2] >= -.9
    # rounded like the file, which the oracle reads back
    surface(x, f, "lh.sphere.surf.gii")
    surface(x * 1.2 + .01 * np.sin(5 * x), f, "rh.sphere.surf.gii")
    maps(y, "lh.y.func.gii")
    maps(y[:, ::-1] if inside[::-1].all() else np.roll(y, 1, axis=0), "rh.y.func.gii")
    octant = 1 + (x > 0) @ [1, 2, 4]
    labels(np.where(inside, octant, 0), "lh.octants.label.gii")
    labels(np.where(inside, octant, 9), "lh.unknown.label.gii", unknown=9)
    labels(octant * np.where(inside, 1, 3), "lh.outside.label.gii")
    half = octant + np.where(inside, .5, 0)
    maps(half[None], "lh.half.func.gii")
    labels(np.where(inside, octant, 0)[:-1], "lh.short.label.gii")
    surface(x[:-1], f[(f < n - 1).all(1)], "lh.short.surf.gii")
    bad = f.copy()
    bad[6, 1] = n
    surface(x, bad, "lh.bad.surf.gii")
    surface(x, f, "lh.no.surf.gii", point="NIFTI_INTENT_VECTOR")
    nan = x.copy()
    nan[4, 2] = np.nan
    surface(nan, f, "lh.nan.surf.gii")
    # volumes
    v = 2 + rng.normal(size=(6, 5, 4, 1)) + (age - 50) / 15 + .4 * rng.normal(size=(6, 5, 4, N))
    atlas = np.zeros((6, 5, 4), "i2")
    atlas[:3], atlas[3:, 1:] = 4, 17
    nib.save(nib.Nifti1Image(v.astype("f4"), np.eye(4)), "v.nii.gz")
    nib.save(nib.Nifti1Image(atlas, np.eye(4)), "atlas.nii.gz")
    nib.save(nib.Nifti1Image(atlas, np.diag([2, 2, 2, 1.])), "moved.nii.gz")
    nib.save(nib.Nifti1Image((atlas == 4).astype("u1"), np.eye(4)), "mask.nii.gz")
    columns = np.linalg.qr(rng.normal(size=(120, 5)))[0]
    np.save("columns.npy", columns)
    np.save("turned.npy", columns @ np.linalg.qr(rng.normal(size=(5, 5)))[0])
    np.save("short.npy", columns[:-1])
    hole = columns.copy()
    hole[3, 2] = np.nan
    np.save("nan.npy", hole)
    d = rng.normal(size=(120, 3))
    np.save("centred.npy", d - d.mean(0))


def tensor(path, name):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        at = header[name]["data_offsets"]
        file.seek(8 + size + at[0])
        shape = header[name]["shape"]
        return np.frombuffer(file.read(at[1] - at[0]), "<f8").reshape(shape)


def modes(name, inside, K):
    import scipy.sparse as sp
    from scipy.sparse.linalg import eigsh
    image = nib.load(name)
    x, f = image.darrays[0].data.astype(float), image.darrays[1].data
    f = f[inside[f].all(1)]
    n, entries, mass = len(x), [], np.zeros(len(x))
    for k in range(3):
        i, j, c = f[:, (k + 1) % 3], f[:, (k + 2) % 3], f[:, k]
        u, v = x[i] - x[c], x[j] - x[c]
        area = np.linalg.norm(np.cross(u, v), axis=1)
        cot = .5 * (u * v).sum(1) / area
        entries += [(i, j, -cot), (j, i, -cot), (i, i, cot), (j, j, cot)]
        np.add.at(mass, c, area / 6)
    i, j, v = (np.concatenate(z) for z in zip(*entries))
    keep = np.flatnonzero(inside)
    assert (mass[keep] > 0).all()
    L = sp.csc_matrix((v, (i, j)), shape=(n, n))[keep][:, keep]
    return eigsh(L, K, M=sp.diags(mass[keep]).tocsc(), sigma=-.1)[1]


def harmonics(model, name, K):
    K = int(K)
    B = tensor(model, "B")
    B = B if B.shape[0] > B.shape[1] else B.T
    assert B.shape[1] == K, B.shape
    y = np.array([a.data for a in nib.load("lh.y.func.gii").darrays])
    E = np.linalg.qr(modes(name, y.std(0) > 0, K))[0]
    angle = np.linalg.svd(E.T @ B)[1]
    assert len(E) == len(B) and angle.min() > 1 - 1e-9, angle


def columns(model, P):
    B = tensor(model, "B")
    B = B if B.shape[0] > B.shape[1] else B.T
    assert B.shape[1] == int(P) and abs(B.T @ B - np.eye(int(P))).max() < 1e-10, B.shape


def alike(a, b):
    x, y = (nib.load(f"{d}/z.nii.gz").get_fdata() for d in (a, b))
    assert abs(x - y).max() < 1e-3 and x.std() > .5, abs(x - y).max()


globals()[sys.argv[1]](*sys.argv[2:])
