"""Are two model files the same but for the record of the run that made them (command, inputs, hashes, warnings)?

As a module: same(a, b). As a script: same_model.py A B, status 1 if they differ."""

import json
import struct
import sys


def content(path):
    """Header without checksum and record of the run, and the bytes of the arrays."""
    with open(path, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(length)), f.read()
    metadata = header["__metadata__"]
    record = json.loads(metadata["record"])
    record.pop("fit", None)
    return header | {"__metadata__": {k: v for k, v in metadata.items() if k not in ("record", "checksum")}}, record, data


def same(a, b):
    return content(a) == content(b)


if __name__ == "__main__":
    sys.exit(0 if same(*sys.argv[1:3]) else f"{sys.argv[1]} and {sys.argv[2]} differ")
