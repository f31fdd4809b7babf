"""Reads a model file from standard input and writes it to standard output with the checksum of its bytes.

The checksum is the first entry of the metadata: XXH64 of the file, whose own 16 digits count as zeros
(docs/developers/model_file.md). Tests use it to edit a model so that the edit, not the checksum, is refused.
"""

import struct
import sys

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
                      2870177450012600261)
START = b'{"__metadata__":{"checksum":"'
DIGITS = 16


def rotate(x, bits):
    return (x << bits | x >> (64 - bits)) & MASK


def add_lane(accumulator, lane):
    return rotate((accumulator + lane * P2) & MASK, 31) * P1 & MASK


def xxh64(data):
    """XXH64 with seed 0, as its specification describes it."""
    i, n = 0, len(data)
    if n >= 32:
        v = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while i + 32 <= n:
            v = [add_lane(a, lane) for a, lane in zip(v, struct.unpack_from("<4Q", data, i))]
            i += 32
        h = sum(rotate(a, bits) for a, bits in zip(v, (1, 7, 12, 18))) & MASK
        for a in v:
            h = ((h ^ add_lane(0, a)) * P1 + P4) & MASK
    else:
        h = P5
    h = (h + n) & MASK
    while i + 8 <= n:
        h = (rotate(h ^ add_lane(0, struct.unpack_from("<Q", data, i)[0]), 27) * P1 + P4) & MASK
        i += 8
    if i + 4 <= n:
        h = (rotate(h ^ struct.unpack_from("<I", data, i)[0] * P1 & MASK, 23) * P2 + P3) & MASK
        i += 4
    for byte in data[i:]:
        h = rotate(h ^ byte * P5 & MASK, 11) * P1 & MASK
    h = (h ^ h >> 33) * P2 & MASK
    h = (h ^ h >> 29) * P3 & MASK
    return h ^ h >> 32


def reseal(data):
    """The file with a new checksum; unchanged where it has none."""
    at = 8 + len(START)
    if data[8:at] != START:
        return data
    zeros = data[:at] + b"0" * DIGITS + data[at + DIGITS:]
    return data[:at] + b"%016x" % xxh64(zeros) + data[at + DIGITS:]


if __name__ == "__main__":
    sys.stdout.buffer.write(reseal(sys.stdin.buffer.read()))
