"""Reads a .safetensors file with nothing but json, struct and numpy.

As a module: tensors, metadata = read(path). As a script: lists what the file holds."""

import json
import struct
import sys

import numpy as np

TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "<u1"}


def read(path):
    with open(path, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(length)), f.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(data[begin:end], TYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors, metadata


if __name__ == "__main__":
    tensors, metadata = read(sys.argv[1])
    for key, value in metadata.items():
        print(f"{key}: {value}")
    for name, x in tensors.items():
        print(f"{name}: {x.dtype} {list(x.shape)}")
