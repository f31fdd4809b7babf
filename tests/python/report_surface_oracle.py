"""Surfaces of `kronorm report` against scipy: the same people as GIFTI, MGH and CIFTI files make the same pictures, and
clusters are the connected components of the mesh above the threshold. Two spheres of 642 vertices, without a medial
wall that no response is of.

    report_surface_oracle.py KRONORM"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import nibabel as nib
import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull

kronorm = os.path.abspath(sys.argv[1])
folder = tempfile.mkdtemp()
os.chdir(folder)
failures = 0
V, PEOPLE = 642, 60


def run(*words):
    done = subprocess.run([kronorm, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def check(what, ok):
    global failures
    failures += not ok
    print(("ok   " if ok else "FAIL ") + what)


def array(data, intent, kind):
    return nib.gifti.GiftiDataArray(data, intent=intent, datatype=kind)


def gifti(data):
    return nib.GiftiImage(darrays=[array(data, "NIFTI_INTENT_SHAPE", "NIFTI_TYPE_FLOAT32")])


i = np.arange(V) + 0.5
latitude, longitude = np.arccos(1 - 2 * i / V), np.pi * (1 + 5**0.5) * i
xyz = np.c_[np.cos(longitude) * np.sin(latitude), np.sin(longitude) * np.sin(latitude), np.cos(latitude)]
faces = ConvexHull(xyz).simplices.astype("i4")
inward = np.einsum("ij,ij->i", np.cross(xyz[faces[:, 1]] - xyz[faces[:, 0]], xyz[faces[:, 2]] - xyz[faces[:, 0]]),
                   xyz[faces].mean(1)) < 0
faces[inward] = faces[inward][:, ::-1]
mm = [(xyz * (30, 70, 50) + (at, 0, 0)).astype("f4") for at in (-35, 35)]
for side, points in zip(("lh", "rh"), mm):
    nib.save(nib.GiftiImage(darrays=[array(points, "NIFTI_INTENT_POINTSET", "NIFTI_TYPE_FLOAT32"),
                                     array(faces, "NIFTI_INTENT_TRIANGLE", "NIFTI_TYPE_INT32")]), f"{side}.surf.gii")
cortex = np.concatenate([xyz[:, 0] < 0.8, xyz[:, 0] > -0.8])
axis = (nib.cifti2.BrainModelAxis.from_mask(cortex[:V], name="CortexLeft")
        + nib.cifti2.BrainModelAxis.from_mask(cortex[V:], name="CortexRight"))

random = np.random.default_rng(4)
lists = {kind: open(f"{kind}.txt", "w") for kind in ("gifti", "mgh", "cifti")}
with open("people.csv", "w") as people:
    print("participant_id,age", file=people)
    for p in range(PEOPLE):
        age = random.uniform(20, 80)
        value = 3 - 0.01 * age + np.concatenate([xyz @ random.normal(size=3) for _ in "lr"]) * 0.05
        value += 0.1 * random.normal(size=2 * V)
        if p % 10 == 0:  # somebody with patches: less here, more there
            for _ in range(6):
                at, sign = random.integers(2 * V), random.choice([-1, 1])
                near = np.linalg.norm(xyz - xyz[at % V], axis=1) < 0.35
                value[at // V * V:][:V] += sign * 0.7 * near
        value = np.where(cortex, value, 0).astype("f4")
        print(f"s{p}", age, sep=",", file=people)
        for side, part in (("lh", value[:V]), ("rh", value[V:])):
            nib.save(gifti(part), f"s{p}.{side}.func.gii")
            nib.save(nib.MGHImage(part.reshape(-1, 1, 1), np.eye(4)), f"{side}.s{p}.mgh")
        nib.save(nib.Cifti2Image(value[cortex][None], header=(nib.cifti2.ScalarAxis(["thickness"]), axis)), f"s{p}.dscalar.nii")
        print(f"s{p}", f"s{p}.lh.func.gii", f"s{p}.rh.func.gii", sep="\t", file=lists["gifti"])
        print(f"s{p}", f"lh.s{p}.mgh", f"rh.s{p}.mgh", sep="\t", file=lists["mgh"])
        print(f"s{p}", f"s{p}.dscalar.nii", sep="\t", file=lists["cifti"])

maps = {}
for kind, file in lists.items():
    file.close()
    run("fit", "-c", "people.csv", "-y", f"{kind}.txt", "--use", "age", "-q", "-o", f"{kind}.safetensors")
    run("report", f"{kind}.safetensors", "--people", "5", "--surface", "lh.surf.gii,rh.surf.gii", "-o", f"{kind}.html")
    with open(f"{kind}.html") as page:
        maps[kind] = re.findall(r'<svg class="map".*?</svg>', page.read(), re.S)
check("there is a map for each card", len(maps["gifti"]) >= 5)
check("no two of them are the same", len(set(maps["gifti"])) == len(maps["gifti"]))
check("MGH draws what GIFTI does", maps["mgh"] == maps["gifti"])
check("CIFTI draws what GIFTI does", maps["cifti"] == maps["gifti"])

# Of people who were scored, so that their z are in files.
run("score", "gifti.safetensors", "-c", "people.csv", "-y", "gifti.txt", "-q", "-o", "scored")
j = json.loads(run("report", "gifti.safetensors", "--scored", "scored", "--people", "8", "--surface",
                   "lh.surf.gii,rh.surf.gii", "--json"))
z = np.concatenate([np.array(nib.load(f"scored/z_{side}.func.gii").agg_data()).T.reshape(V, -1) for side in ("lh", "rh")])
edges = np.concatenate([faces[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
edges = np.concatenate([edges, edges + V])
places = np.concatenate(mm)


def clusters(map_of_z):
    """(vertices, peak z, mm) of the components above 3, of one sign; largest first"""
    out = []
    for sign in (1, -1):
        beyond = np.flatnonzero(cortex & (sign * np.nan_to_num(map_of_z) > 3))
        inside = edges[np.isin(edges, beyond).all(1)]
        graph = coo_matrix((np.ones(len(inside)), inside.T), (2 * V, 2 * V))
        part = connected_components(graph, directed=False)[1]
        for k in np.unique(part[beyond]):
            member = beyond[part[beyond] == k]
            peak = member[np.argmax(np.abs(map_of_z[member]))]
            out.append((len(member), map_of_z[peak], *places[peak]))
    return sorted(out, key=lambda c: (-c[0], -abs(c[1])))


largest = 0
for card in j["cards"]:
    expected = clusters(z[:, card["person"]])
    given = [(c["n"], c["z"], *c["mm"]) for c in card["clusters"]]
    largest = max(largest, *(c[0] for c in given), 0)
    check(f"person {card['person']}: clusters are components of the mesh", card["clusters_found"] == len(expected)
          and len(given) == min(8, len(expected)) and np.allclose(given, expected[:8], rtol=1e-5, atol=1e-4))
check("there are large ones", largest > 15)
shutil.rmtree(folder)
sys.exit(failures > 0)
