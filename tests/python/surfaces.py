"""Surfaces for tests/cli/surfaces.sh, made and read back with nibabel.

    surfaces.py make                     people.csv, images and lists of 30 people
    surfaces.py maps FILE FRAMES PLACES  is one file of so many maps
    surfaces.py same A B                 the same numbers in the same order
    surfaces.py joined BOTH LEFT RIGHT   the places of LEFT, then those of RIGHT
    surfaces.py brain FILE OTHER NAME    dense scalars over the brain models of OTHER, maps named NAME or as in people.csv
    surfaces.py names FILE               data arrays of GIFTI are named as in people.csv
    surfaces.py side FILE STRUCTURE      GIFTI says so
    surfaces.py space FILE OTHER         MGH in the same place
"""

import csv
import sys

import nibabel as nib
import numpy as np

N, LEFT, RIGHT = 30, 60, 50
IDS = [f"p{i + 1:02}" for i in range(N)]
WALL = [3, 17, 18]  # vertices of the left side that are 0 in everybody


def brain(shift=0):
    axis = nib.cifti2.BrainModelAxis
    left = axis.from_surface(np.arange(0, LEFT, 2) + shift, LEFT + 10, "CortexLeft")
    right = axis.from_surface(np.arange(RIGHT), RIGHT, "CortexRight")
    mask = np.zeros((3, 3, 3), bool)
    mask[1, 1:, :] = True
    return left + right + axis.from_mask(mask, "thalamus_left", affine=np.diag([2, 2, 2, 1.0]))


def gifti(x, name):
    arrays = [nib.gifti.GiftiDataArray(v.astype("f4"), intent="NIFTI_INTENT_SHAPE", datatype="NIFTI_TYPE_FLOAT32")
              for v in np.atleast_2d(x)]
    nib.save(nib.GiftiImage(darrays=arrays), name)


def mgh(x, name):
    x = np.atleast_2d(x).astype("f4")
    affine = np.array([[-1, 0, 0, 5], [0, 0, 1, -7], [0, -1, 0, 9], [0, 0, 0, 1.0]])
    nib.save(nib.MGHImage(x.T[:, None, None, :] if len(x) > 1 else x.T[:, None, :], affine), name)


def cifti(x, name, axis, names):
    image = nib.Cifti2Image(np.atleast_2d(x).astype("f4"), (nib.cifti2.ScalarAxis(names), axis))
    image.update_headers()
    nib.save(image, name)


def series(x, name, axis):
    image = nib.Cifti2Image(x.astype("f4"), (nib.cifti2.SeriesAxis(0, 1, len(x)), axis))
    image.update_headers()
    image.nifti_header.set_intent("ConnDenseSeries")
    nib.save(image, name)


def write_list(name, *columns):
    with open(name, "w") as f:
        for row in zip(IDS, *columns):
            f.write("\t".join(row) + "\n")


def make():
    r = np.random.default_rng(5)
    age, sex = r.integers(20, 70, N), r.integers(0, 2, N)
    with open("people.csv", "w") as f:
        f.write("participant_id,age,sex\n")
        for i in range(N):
            f.write(f"{IDS[i]},{age[i]},{'FM'[sex[i]]}\n")
    places = LEFT + RIGHT
    y = 2.5 - 0.01 * age[:, None] * r.uniform(0.2, 1, places) + 0.1 * r.normal(size=(N, places))
    y += 0.1 * r.normal(size=(N, 1))
    y = y.astype("f4")
    y[:, WALL] = 0
    left, right = y[:, :LEFT], y[:, LEFT:]
    for side, x in (("lh", left), ("rh", right)):
        mgh(x, f"{side}.all.mgh")
        mgh(x, f"{side}.all.mgz")
        gifti(x, f"{side}.all.func.gii")
        for i in range(N):
            mgh(x[i], f"{IDS[i]}.{side}.mgz")
            gifti(x[i], f"{IDS[i]}_hemi-{side[0].upper()}.shape.gii")
    mgh(right[:5], "rh.few.mgh")
    gifti(right, "both.func.gii")
    mgh(np.r_[np.ones(LEFT - 9), np.zeros(9)], "lh.mask.mgh")
    mgh(np.ones(RIGHT), "rh.mask.mgh")
    write_list("lh.txt", [f"{i}.lh.mgz" for i in IDS])
    write_list("mgz.txt", [f"{i}.lh.mgz" for i in IDS], [f"{i}.rh.mgz" for i in IDS])
    write_list("gii.txt", [f"{i}_hemi-L.shape.gii" for i in IDS], [f"{i}_hemi-R.shape.gii" for i in IDS])
    swapped = [f"{i}.{'rh' if i == 'p07' else 'lh'}.mgz" for i in IDS]
    mgh(left[6], "p07.lh.mgz")
    write_list("swapped.txt", swapped, [f"{i}.rh.mgz" for i in IDS])
    axis = brain()
    z = np.c_[left[:, ::2], right, y[:, :6]]
    cifti(z, "all.dscalar.nii", axis, IDS)
    series(z, "all.dtseries.nii", axis)
    np.save("all.npy", z)
    for i in range(N):
        cifti(z[i], f"{IDS[i]}.dscalar.nii", axis, ["thickness"])
    cifti(z[6], "moved.dscalar.nii", brain(1), ["thickness"])
    cifti((np.arange(len(axis)) < 70) * 1.0, "mask.dscalar.nii", axis, ["mask"])
    cifti(np.ones(len(axis)), "moved_mask.dscalar.nii", brain(1), ["mask"])
    write_list("dscalar.txt", [f"{i}.dscalar.nii" for i in IDS])
    write_list("moved.txt", ["moved.dscalar.nii" if i == "p07" else f"{i}.dscalar.nii" for i in IDS])
    parcels = nib.cifti2.ParcelsAxis.from_brain_models([("a", axis[:40]), ("b", axis[40:])])
    cifti(z[:, :2], "all.pscalar.nii", parcels, IDS)


def read(name):
    """maps x places"""
    if name.endswith(".npy"):
        return np.nan_to_num(np.load(name))  # images have 0 where a response is constant
    if name.endswith(".csv"):
        with open(name, newline="") as f:
            return np.array([row[1:] for row in list(csv.reader(f))[1:]], float)
    image = nib.load(name)
    if name.endswith(".gii"):
        return np.array([a.data for a in image.darrays])
    x = np.asarray(image.dataobj)
    if name.endswith(".dscalar.nii"):
        return x
    return x.reshape(-1, x.shape[3]).T if x.ndim == 4 else x.reshape(1, -1)


def maps(name, frames, places):
    x = read(name)
    assert x.shape == (int(frames), int(places)), x.shape
    assert np.isfinite(x).all() and x.std() > 0


def same(a, b):
    x, y = read(a), read(b)
    assert x.shape == y.shape, (x.shape, y.shape)
    assert np.abs(x - y).max() <= 1e-5 * np.abs(y).max(), np.abs(x - y).max()


def joined(both, left, right):
    x, y = read(both), np.c_[read(left), read(right)]
    assert x.shape == y.shape and np.abs(x - y).max() <= 1e-5 * np.abs(y).max()


def dense(name, other, label=None):
    image, theirs = nib.load(name), nib.load(other)
    assert isinstance(image, nib.Cifti2Image)
    assert image.nifti_header.get_intent()[0] == "ConnDenseScalar", image.nifti_header.get_intent()
    assert image.nifti_header["intent_code"] == 3006
    scalars, models = image.header.get_axis(0), image.header.get_axis(1)
    assert models == theirs.header.get_axis(1)
    assert list(scalars.name) == ([label] if label else IDS), scalars.name
    assert image.shape == (len(scalars), len(models))


def names(name):
    assert [a.meta["Name"] for a in nib.load(name).darrays] == IDS


def side(name, structure):
    assert nib.load(name).meta["AnatomicalStructurePrimary"] == structure


def space(name, other):
    a, b = nib.load(name), nib.load(other)
    assert isinstance(a, nib.MGHImage) and a.get_data_dtype() == np.dtype(">f4")
    assert np.allclose(a.affine, b.affine, atol=1e-5), a.affine


commands = {f.__name__: f for f in (make, maps, same, joined, names, side, space)}
commands["brain"] = dense
commands[sys.argv[1]](*sys.argv[2:])
