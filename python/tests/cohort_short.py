"""Participants of test_short.py, without pandas: two covariates, four responses that fall with the first."""
from __future__ import annotations

import os
import pathlib
import subprocess

import numpy as np


def simulate(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Covariates (n, 2) and responses (n, 4)."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(20, 80, n), rng.normal(size=n)])
    shared = rng.normal(size=(n, 1))
    return X, 3 - 0.02 * X[:, :1] + 0.1 * shared + 0.1 * rng.normal(size=(n, 4))


def write(path: pathlib.Path, X: np.ndarray, Y: np.ndarray) -> None:
    """One table of covariates and responses, every digit of them; without ids, as the arrays."""
    names = [*(f"x{j}" for j in range(X.shape[1])), *(f"y{j}" for j in range(Y.shape[1]))]
    lines = [",".join(map(repr, map(float, (*X[i], *Y[i])))) for i in range(len(X))]
    path.write_text("\n".join([",".join(names), *lines]) + "\n")


def command(folder: pathlib.Path, *words: str) -> None:
    subprocess.run([os.environ["KRONORM_COMMAND"], *words, "-q"], cwd=folder, check=True)
