"""Copies a model file from standard input to standard output with another first value in one array, and a new checksum.

    python3 set_array.py NAME VALUE <model >other
"""

import json
import struct
import sys

from reseal import reseal

PACK = {"F64": "<d", "F32": "<f", "I64": "<q", "I32": "<i"}


def main(name, value):
    data = bytearray(sys.stdin.buffer.read())
    length = struct.unpack_from("<Q", data)[0]
    entry = json.loads(data[8:8 + length])[name]
    kind = PACK[entry["dtype"]]
    struct.pack_into(kind, data, 8 + length + entry["data_offsets"][0],
                     float(value) if kind in "<d<f" else int(value))
    sys.stdout.buffer.write(reseal(bytes(data)))


if __name__ == "__main__":
    main(*sys.argv[1:])
