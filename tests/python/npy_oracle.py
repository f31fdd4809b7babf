"""Arrays of every type, order and version, written by numpy, read by us; and the way back."""

import numpy as np
from numpy.lib import format as npy

from oracle import ask, check, done, path, refused, same

rng = np.random.default_rng(1)
TYPES = ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]


def values(kind, shape):
    if kind[0] == "f":
        x = rng.normal(size=shape).astype(kind)
        x.flat[0] = np.nan
        x.flat[-1] = -np.inf
        return x
    if kind == "b1":
        return rng.random(shape) > 0.5
    info = np.iinfo(kind)
    x = rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    x.flat[0], x.flat[-1] = info.min, info.max
    return x


for kind in TYPES:
    for endian in "<>":
        for order in "CF":
            for version in [(1, 0), (2, 0), (3, 0)]:
                for shape in [(7, 5), (1, 9), (9, 1), (6,), (1,), (3, 70000), (3, 500000)]:
                    if shape[-1] >= 70000 and version != (1, 0):
                        continue
                    if shape[-1] == 500000 and kind not in ("f4", "f8", "i2"):  # by threads
                        continue
                    x = np.array(values(kind, shape).astype(endian + kind), order=order)
                    file = path("x.npy")
                    with open(file, "wb") as f:
                        npy.write_array(f, x, version=version)
                    for back in ["f4", "f8"]:
                        a = ask("npy", file, path("x.raw"), back, path("y.npy"))
                        what = (kind, endian, order, version, shape)
                        check(a["dims"] == len(shape), *what, "dims")
                        check(a["type"] == ("f4" if kind == "f4" else "f8"), *what, "type")
                        ours = np.fromfile(path("x.raw")).reshape(a["rows"], a["cols"])
                        theirs = x.reshape(shape if len(shape) == 2 else (-1, 1))
                        same(ours, theirs.astype("f8"), *what)
                        y = np.load(path("y.npy"))
                        check(y.dtype == np.dtype("<" + back), *what, "dtype written")
                        with np.errstate(all="ignore"):
                            same(y, theirs.astype("f8").astype(back), *what, "written")

np.save(path("cube.npy"), np.zeros((2, 2, 2)))
check(refused("npy", path("cube.npy"), path("x")) ==
      "cube.npy: the array has 3 dimensions, but must have 1 or 2", "cube")
np.save(path("scalar.npy"), np.float64(1))
check("0 dimensions" in refused("npy", path("scalar.npy"), path("x")), "scalar")
np.save(path("half.npy"), np.zeros(3, "f2"))
check(refused("npy", path("half.npy"), path("x")) ==
      "half.npy: the elements have type '<f2', but must be float32, float64, integers or bool", "half")
np.save(path("text.npy"), np.array(["a", "b"]))
check("elements have type '<U1'" in refused("npy", path("text.npy"), path("x")), "text")
np.save(path("complex.npy"), np.zeros(3, "c16"))
check("'<c16'" in refused("npy", path("complex.npy"), path("x")), "complex")
np.save(path("object.npy"), np.array([None]), allow_pickle=True)
check("'|O'" in refused("npy", path("object.npy"), path("x")), "object")
np.save(path("record.npy"), np.zeros(3, [("a", "f4")]))
check("is not that of a plain array" in refused("npy", path("record.npy"), path("x")), "record")
np.save(path("empty.npy"), np.zeros((0, 4)))
check("no values" in refused("npy", path("empty.npy"), path("x")), "empty")
done()
