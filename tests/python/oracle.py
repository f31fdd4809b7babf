"""What the oracles share: the program under test, a folder, and counting."""

import atexit
import json
import os
import subprocess
import sys
import tempfile

try:
    import nibabel
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

folder = tempfile.TemporaryDirectory(prefix="kn-oracle-")
atexit.register(folder.cleanup)
_program = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
_checks = 0


def path(name):
    return os.path.join(folder.name, name)


def ask(*words):
    """One command to io_dump; its answer, which must not be an error."""
    answer = refused(*words, may_work=True)
    if "error" in answer:
        sys.exit(f"{words}: {answer['error']}")
    return answer


def refused(*words, may_work=False):
    """The same for a command that must fail; the sentence, without the folder."""
    _program.stdin.write("\t".join(str(w) for w in words) + "\n")
    _program.stdin.flush()
    line = _program.stdout.readline()
    if not line:
        sys.exit(f"{words}: the program ended")
    answer = json.loads(line)
    if may_work:
        return answer
    if "error" not in answer:
        sys.exit(f"{words}: was accepted")
    return answer["error"].replace(folder.name + "/", "")


def check(condition, *what):
    global _checks
    _checks += 1
    if not condition:
        sys.exit("failed: " + " ".join(str(w) for w in what))


def same(ours, theirs, *what):
    """Bit for bit, NaN equal to NaN."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    check(ours.shape == theirs.shape, *what, "shape", ours.shape, theirs.shape)
    check(np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"), *what, "values")


def done():
    print(f"{_checks} checks")
