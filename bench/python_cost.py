#!/usr/bin/python3
"""What does Python cost over the library it calls? One fit of 600 x 5438, scores of one person and of 440, and the most
memory a process holds, beside the command on the same numbers. Prints markdown.

    KRONORM_LIBRARY=build/libkronorm.so.0 KRONORM_COMMAND=build/kronorm PYTHONPATH=python bench/python_cost.py [--quick]

Time inside the library is taken around the very calls that the package makes, so both are of one run. Medians.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

QUICK = "--quick" in sys.argv
N, T, F = (60, 40, 4) if QUICK else (600, 5438, 100)
FITS, CALLS = (1, 5) if QUICK else (5, 100)
COMMAND = os.environ["KRONORM_COMMAND"]
# both sides with the same BLAS kernels: the command restarts itself with them, a host program cannot
if "OPENBLAS_CORETYPE" not in os.environ:
    probe = "import kronorm; print(kronorm.build()['better_core'] or '')"
    core = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True).stdout.strip()
    if core:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_CORETYPE": core})

import numpy as np

import kronorm
import kronorm._abi
from kronorm import _library

INSIDE = []


def timed(name):
    """The library's function, that adds what it takes to INSIDE."""
    function = getattr(_library.lib, name)

    def call(*arguments):
        begin = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            INSIDE.append(time.perf_counter() - begin)

    setattr(_library.lib, name, call)


def people(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, F))
    mixing = np.random.default_rng(1).normal(size=(F, T)) * (np.arange(F) < 5)[:, None]
    return X, (X @ mixing + 3 * rng.normal(size=(n, T))).astype(np.float32)


def cost(what, times, call):
    """Milliseconds outside the library: the median of those of each call."""
    whole, outside = [], []
    for _ in range(times):
        del INSIDE[:]
        begin = time.perf_counter()
        call()
        whole.append(time.perf_counter() - begin)
        outside.append(whole[-1] - sum(INSIDE))
    ms = [1e3 * statistics.median(x) for x in (whole, outside)]
    if not 0 <= ms[1] <= ms[0]:
        sys.exit(f"{what}: {ms[1]:.2f} of {ms[0]:.1f} ms outside the library, expected none to all of them")
    print(f"| {what} | {ms[0]:.1f} | {ms[1]:.2f} | {100 * ms[1] / ms[0]:.1f} % |", flush=True)


def peak(arguments):
    """The most megabytes that a process held. By time(1): a child of this process would begin with its size."""
    run = subprocess.run(["/usr/bin/time", "-f", "%M", *arguments], check=True, stderr=subprocess.PIPE, text=True)
    return int(run.stderr.split()[-1]) / 1024


def main():
    X, Y = people(N, 2)
    X2, Y2 = people(440 if not QUICK else 20, 3)
    for name in kronorm._abi.FUNCTIONS:
        timed(name)
    print(f"N = {N}, T = {T}, F = {F}, float32 responses; {kronorm.build()['core']}.\n")
    print("| call | ms | of it outside the library | share |\n|---|--:|--:|--:|")
    model = kronorm.NormativeModel().fit(X, Y)
    cost("fit", FITS, lambda: kronorm.NormativeModel().fit(X, Y))
    cost("zscore of one person", CALLS, lambda: model.zscore(X2[:1], Y2[:1]))
    cost("predict of one person", CALLS, lambda: model.predict(X2[:1]))
    cost(f"zscore of {len(X2)}", FITS, lambda: model.zscore(X2, Y2))
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/Y.npy", Y)
        np.save(f"{folder}/X.npy", X)
        with open(f"{folder}/people.csv", "w") as f:
            f.write(",".join(f"x{k}" for k in range(F)) + "\n")
            f.writelines(",".join(map(repr, row.tolist())) + "\n" for row in X)
        numbers = ",".join(f"x{k}" for k in range(F))
        command = peak([COMMAND, "fit", "-c", f"{folder}/people.csv", "-y", f"{folder}/Y.npy", "--use", numbers, "--numeric",
                        numbers, "-q", "-o", f"{folder}/model.safetensors"])
        here = f"import numpy as np, kronorm; X, Y = np.load('{folder}/X.npy'), np.load('{folder}/Y.npy'); "
        bare = peak([sys.executable, "-c", here])
        python = peak([sys.executable, "-c", here + "kronorm.NormativeModel().fit(X, Y)"])
    print(f"\nMost memory of a process that fits: the command {command:.0f} MB, Python {python:.0f} MB, of which "
          f"{bare:.0f} MB are Python with numpy, scikit-learn and the arrays.")


main()
