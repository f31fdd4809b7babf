#!/usr/bin/python3
"""What do ranks cost and bring? The same fit by 1, 2 and 4 processes, one thread each: strong scaling, the same responses for any number of
them, and weak, so many for each. Prints markdown.

    make mpi && bench/ranks.py build/kronorm [--quick | --people N --responses T --each T]     MPIRUN="mpirun --oversubscribe" bench/ranks.py ...

Numbers are those of MODEL.log.json, of the rank that has most: processor seconds outside communication do not depend on how many ranks share
a processor, which the seconds of a clock do, and those inside are mostly waiting. The models of one column of strong scaling must
have the same bytes: else this fails.
"""
import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

RANKS = (1, 2, 4)
FACTORS = 12


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("kronorm")
    p.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works")
    p.add_argument("--people", type=int, default=6000)
    p.add_argument("--responses", type=int, default=24576, help="strong scaling: of all ranks together")
    p.add_argument("--each", type=int, default=8192, help="weak scaling: of each rank")
    p.add_argument("--components", type=int, default=20)
    a = p.parse_args()
    if a.quick:
        a.people, a.responses, a.each, a.components = 40, 4100, 2048, 2
    return a


def write_people(path, n):
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 80, n)
    sex = rng.integers(0, 2, n)
    with open(path, "w") as f:
        f.write("age,sex\n")
        f.writelines(f"{a:.6f},{s}\n" for a, s in zip(age, sex))
    return age, sex


def write_responses(path, age, sex, t):
    """Factors of which two follow age and sex, and noise of each response; by columns of a few thousand, for memory."""
    rng = np.random.default_rng(2)
    z = rng.standard_normal((len(age), FACTORS)).astype(np.float32)
    z[:, 0] += (age - 50) / 15
    z[:, 1] += (sex - 0.5) * 2
    y = np.lib.format.open_memmap(path, mode="w+", dtype="<f4", shape=(len(age), t))
    for at in range(0, t, 2048):
        width = min(2048, t - at)
        load = rng.standard_normal((FACTORS, width)).astype(np.float32)
        y[:, at : at + width] = z @ load + 2 * rng.standard_normal((len(age), width), dtype=np.float32)
    y.flush()


def fit(a, ranks, people, responses, model):
    launcher = os.environ.get("MPIRUN", "mpirun").split() + ["-n", str(ranks)] if ranks > 1 else []
    command = [os.path.abspath(a.kronorm), "fit", "-c", people, "-y", responses, "-P", str(a.components), "--threads", "1", "-o", model, "-q"]
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
    }
    subprocess.run(launcher + command, check=True, env=environment)
    with open(model + ".log.json") as f:
        log = json.load(f)
    if log["ranks"] != ranks:
        sys.exit(f"ranks.py: {log['ranks']} ranks have worked, expected {ranks}")
    return log


def row(log, t, first):
    said = log.get("between_ranks", {"calls": 0, "bytes": 0, "seconds": 0})
    outside = log["processor_seconds"]
    return (
        f"| {log['ranks']} | {t} | {outside:.1f} | {first / outside:.2f} | {said['bytes'] / 1e6:.1f} | {said['calls']:.0f} "
        f"| {said['seconds']:.1f} | {sum(log['seconds'].values()):.1f} |"
    )


def table(a, folder, people, title, sizes, same):
    print(f"\n{title}\n\n| ranks | T | processor s outside | 1 rank / this | MB said | calls | s inside | s by the clock |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    first = None
    one = os.path.join(folder, "one.safetensors")
    for ranks, (responses, t) in zip(RANKS, sizes):
        model = one if ranks == 1 else os.path.join(folder, "more.safetensors")
        log = fit(a, ranks, people, responses, model)
        first = first or log["processor_seconds"]
        print(row(log, t, first), flush=True)
        if same and not filecmp.cmp(model, one, shallow=False):
            sys.exit(f"ranks.py: {ranks} ranks made another model than one")
        if ranks > 1:
            os.remove(model)
            os.remove(model + ".log.json")
    os.remove(one)
    os.remove(one + ".log.json")


def main():
    a = arguments()
    with tempfile.TemporaryDirectory() as folder:
        people = os.path.join(folder, "people.csv")
        age, sex = write_people(people, a.people)

        def responses(t):
            path = os.path.join(folder, f"y{t}.npy")
            write_responses(path, age, sex, t)
            return path, t

        print(f"## Ranks\n\nN = {a.people}, P = {a.components}, one thread a rank, load {os.getloadavg()[0]:.1f} when it began, {os.cpu_count()} processors.")
        strong = responses(a.responses)
        table(a, folder, people, "Strong: the same responses.", [strong] * len(RANKS), True)
        os.remove(strong[0])
        weak = [responses(a.each * r) for r in RANKS]
        table(a, folder, people, f"Weak: {a.each} responses a rank.", weak, False)


main()
