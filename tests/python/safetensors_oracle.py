"""Tensors laid out by hand, read by us; what we write of them, read by twenty lines of Python."""

import json
import struct

import numpy as np

from oracle import ask, check, done, path, refused, same
from safetensors_read import TYPES, read

rng = np.random.default_rng(4)
NAMES = {np.dtype(v): k for k, v in TYPES.items()}
SHAPES = [(), (1,), (7,), (0,), (3, 5), (1, 9), (9, 1), (0, 4), (4, 0), (40, 70), (2, 3, 4),
          (2, 1, 3, 2)]


def values(kind, shape):
    if kind[1] == "f":
        x = rng.normal(size=shape).astype(kind)
        if x.size > 2:
            x.flat[0], x.flat[-1] = np.nan, -np.inf
        return np.asarray(x)
    info = np.iinfo(kind)
    return np.asarray(rng.integers(info.min, info.max, shape, dtype=kind[1:], endpoint=True))


def write(file, tensors, metadata=None, pad=0):
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, x in tensors.items():
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape),
                        "data_offsets": [len(data), len(data) + x.nbytes]}
        data += x.tobytes()
    text = json.dumps(header).encode() + b" " * pad
    with open(file, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def compare(tensors, metadata, *what):
    """Ours of in.safetensors, and what we wrote of it to out.safetensors."""
    answer = ask("tensors", path("in.safetensors"), path("out.safetensors"), path("raw"))
    check(answer["metadata"] == metadata, *what, "metadata")
    check(list(answer["tensors"]) == list(tensors), *what, "names")
    back, kept = read(path("out.safetensors"))
    check(kept == metadata, *what, "metadata written")
    check(list(back) == list(tensors), *what, "names written")
    for name, x in tensors.items():
        check(answer["tensors"][name] == [NAMES[x.dtype], *x.shape], *what, name, "shape")
        check(back[name].dtype == x.dtype, *what, name, "dtype written")
        same(back[name], x, *what, name)
        if x.ndim == 2 and x.dtype.kind == "f":
            columns = np.fromfile(path("raw." + name)).reshape(x.shape, order="F")
            same(columns, x.astype("f8"), *what, name, "columns")


for kind in TYPES.values():
    for shape in SHAPES:
        tensors = {"x": values(kind, shape)}
        write(path("in.safetensors"), tensors)
        compare(tensors, {}, kind, shape)

# Many at once, in any order of types and so at any alignment.
for trial in range(40):
    kinds = rng.choice(list(TYPES.values()), 12)
    shapes = rng.choice(len(SHAPES), 12)
    tensors = {f"t{i}": values(k, SHAPES[s]) for i, (k, s) in enumerate(zip(kinds, shapes))}
    metadata = {"trial": str(trial), "name": 'é "\\ \n&-', "": "empty key"}
    write(path("in.safetensors"), tensors, metadata, pad=trial % 9)
    compare(tensors, metadata, "trial", trial)
    with open(path("out.safetensors"), "rb") as f:
        bytes_ = f.read()
    check((8 + struct.unpack("<Q", bytes_[:8])[0]) % 64 == 0, "data start at a multiple of 64")
    offset = 0
    entries = json.loads(bytes_[8:8 + struct.unpack("<Q", bytes_[:8])[0]])
    del entries["__metadata__"]
    for entry in sorted(entries.values(), key=lambda e: e["data_offsets"]):
        check(entry["data_offsets"][0] == offset, "no holes")
        check(offset % np.dtype(TYPES[entry["dtype"]]).itemsize == 0, "aligned")
        offset = entry["data_offsets"][1]

with open(path("cut.safetensors"), "wb") as f:
    f.write(bytes_[:-1])
if offset:
    check(refused("tensors", path("cut.safetensors"), path("y"), path("raw")) ==
          f"cut.safetensors: the file ends after {len(bytes_) - 1} of {len(bytes_)} bytes", "cut")
done()
