"""People that tests share: age, sex and site, and responses that depend on them."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import unittest
from typing import Any

import numpy as np

try:
    import pandas
except ImportError:
    raise unittest.SkipTest("pandas is not there") from None

SITES = ("Ulm", "Oslo", "Bern")


def people(n: int = 90, seed: int = 1, sites: tuple[str, ...] = SITES, first: int = 1) -> Any:
    """Covariates, with ids in a column."""
    rng = np.random.default_rng(seed)
    return pandas.DataFrame({
        "participant_id": [f"sub-{i:03d}" for i in range(first, first + n)],
        "age": np.round(rng.uniform(20, 80, n), 1),
        "sex": rng.choice(["F", "M"], n),
        "site": [sites[i % len(sites)] for i in range(n)],
    })


def maps(X: Any, T: int = 12, seed: int = 1, shift: float = 0.0) -> Any:
    """Their responses, a column a region."""
    rng = np.random.default_rng(seed + 1000)
    truth = np.random.default_rng(7)
    loads, sexes, ages = truth.normal(size=(3, T)), truth.normal(size=T), truth.normal(size=T)
    offset = {site: truth.normal(size=T) * 0.5 for site in (*SITES, "Rome")}
    own = rng.normal(size=(len(X), 3)) @ loads * 0.5 + rng.normal(size=(len(X), T))
    Y = (own + np.outer((X["age"] - 50) / 15, ages) + np.outer(X["sex"] == "F", sexes)
         + np.array([offset[site] for site in X["site"]]) + shift)
    return pandas.DataFrame(Y, columns=[f"region {j + 1}" for j in range(T)], index=X.index)


def cohort(n: int = 90, T: int = 12, seed: int = 1, **more: Any) -> tuple[Any, Any]:
    X = people(n, seed, **more)
    return X, maps(X, T, seed)


def write(folder: pathlib.Path, name: str, X: Any, Y: Any) -> None:
    """As files of the command, numbers exactly: NAME.tsv and NAME.csv."""
    X.to_csv(folder / f"{name}.tsv", sep="\t", index=False, na_rep="n/a")
    out = Y.copy()
    out.insert(0, "participant_id", list(X["participant_id"]))
    out.to_csv(folder / f"{name}.csv", index=False, na_rep="n/a", float_format=None)


def read(path: Any) -> Any:
    """A table of the command."""
    return pandas.read_csv(path, sep="," if str(path).endswith(".csv") else "\t", float_precision="round_trip",
                           na_values=["n/a"], keep_default_na=False)


def environment() -> dict[str, str]:
    """Both sides of a comparison have one core of OpenBLAS, or bits differ."""
    import kronorm
    core = kronorm.build()["better_core"]
    return {**os.environ, **({"OPENBLAS_CORETYPE": core} if core else {}),
            "PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}


def command(*words: Any, folder: pathlib.Path) -> str:
    """What `kronorm WORDS` prints, in the folder."""
    run = subprocess.run([os.environ["KRONORM_COMMAND"], *map(str, words)], cwd=folder, env=environment(), text=True,
                         capture_output=True)
    if run.returncode:
        raise AssertionError(run.stderr)
    return run.stdout


def python(code: str, folder: pathlib.Path, **variables: str) -> str:
    """What Python prints of the code, in the folder."""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=folder, env={**environment(), **variables},
                         text=True, capture_output=True)
    if run.returncode:
        raise AssertionError(run.stderr)
    return run.stdout
