"""Two spheres of 642 vertices in place of hemispheres, and for each person of the tables a value at every
vertex that falls with age; patients have less at the front of the left one. As files of GIFTI, a list of them for
each table: id<TAB>path."""
import csv
import pathlib
import sys

import nibabel as nib
import numpy as np


def sphere(divisions):
    t = (1 + 5**0.5) / 2
    xyz = [(-1, t, 0), (1, t, 0), (-1, -t, 0), (1, -t, 0), (0, -1, t), (0, 1, t), (0, -1, -t), (0, 1, -t),
           (t, 0, -1), (t, 0, 1), (-t, 0, -1), (-t, 0, 1)]
    xyz = [np.array(v) / np.linalg.norm(v) for v in xyz]
    faces = [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6),
             (7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10),
             (8, 6, 7), (9, 8, 1)]
    for _ in range(divisions):
        middle, finer = {}, []

        def half(a, b):
            key = (min(a, b), max(a, b))
            if key not in middle:
                v = xyz[a] + xyz[b]
                middle[key] = len(xyz)
                xyz.append(v / np.linalg.norm(v))
            return middle[key]

        for a, b, c in faces:
            ab, bc, ca = half(a, b), half(b, c), half(c, a)
            finer += [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
        faces = finer
    return np.array(xyz, "f4"), np.array(faces, "i4")


def array(data, intent):
    return nib.gifti.GiftiDataArray(data, intent=intent, datatype=str(data.dtype))


xyz, faces = sphere(3)
both = np.concatenate([xyz, xyz])
for side, at in (("lh", -40), ("rh", 40)):
    points = (xyz * (30, 70, 50) + (at, 0, 0)).astype("f4")
    nib.save(nib.GiftiImage(darrays=[array(points, "NIFTI_INTENT_POINTSET"), array(faces, "NIFTI_INTENT_TRIANGLE")]),
             f"{side}.surf.gii")
random = np.random.default_rng(1)
pathlib.Path("surfaces").mkdir(exist_ok=True)
for table in sys.argv[1:]:
    kind = pathlib.Path(table).name.split("_")[0]
    with open(table) as people, open(f"{kind}_surfaces.txt", "w") as files:
        for person in csv.DictReader(people, delimiter="\t"):
            shared = random.normal(size=3) @ both.T
            value = 3 - 0.01 * float(person["age"]) + 0.1 * shared + 0.1 * random.normal(size=len(both))
            if person.get("group") == "patient":
                value[: len(xyz)] -= 0.6 * (xyz[:, 1] > 0.6)
            paths = []
            for side, part in (("lh", value[: len(xyz)]), ("rh", value[len(xyz):])):
                paths.append(f"surfaces/{person['participant_id']}_{side}.func.gii")
                nib.save(nib.GiftiImage(darrays=[array(part.astype("f4"), "NIFTI_INTENT_SHAPE")]), paths[-1])
            print(person["participant_id"], *paths, sep="\t", file=files)
