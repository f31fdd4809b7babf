"""Generalised extreme value fits against scipy or R's evd, random samples of each shape sign.

usage: gev_oracle.py GEV_FIT scipy|evd      GEV_FIT: the program tests/tools/gev_fit.c
Exit status 77 (skipped) when scipy is missing, or Rscript or evd where evd is asked for.
"""

import shutil
import subprocess
import sys

try:
    import numpy as np
    from scipy.optimize import minimize
    from scipy.stats import genextreme
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SHAPES = {"bounded": (-0.35, -0.05), "Gumbel": (0.0, 0.0), "heavy": (0.05, 0.5)}
SAMPLES = 8

R_SCRIPT = """
suppressMessages(library(evd))
for (line in readLines(file("stdin"))) {
    x <- scan(text = line, quiet = TRUE)
    f <- fgev(x, control = list(reltol = 1e-14, maxit = 2000))
    cat(sprintf("%.17g", c(f$estimate[c("shape", "loc", "scale")], f$deviance / 2,
                           f$std.err[c("shape", "loc", "scale")])), "\\n")
}
"""


def samples():
    rng = np.random.default_rng(20180)
    for low, high in SHAPES.values():
        for _ in range(SAMPLES):
            n = int(rng.integers(30, 400))
            loc, scale = rng.uniform(-5, 5), rng.uniform(0.05, 3)
            yield genextreme.rvs(-rng.uniform(low, high), loc, scale, size=n, random_state=rng)


def scipy_fit(x):
    """scipy's own fit, its Nelder-Mead answer polished by restarts; returns xi, mu, sigma, nll."""

    def nll(p):
        value = -genextreme.logpdf(x, -p[0], p[1], np.exp(p[2])).sum()
        return value if np.isfinite(value) else 1e10

    c, loc, scale = genextreme.fit(x)
    p = np.array([-c, loc, np.log(scale)])
    for _ in range(2):
        p = minimize(nll, p, method="Nelder-Mead",
                     options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000}).x
    return p[0], p[1], np.exp(p[2]), nll(p)


def run(command, text):
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=True)
    return [np.array(line.split(), float) for line in done.stdout.splitlines()]


def compare_with_scipy(xs, ours):
    """Never worse than scipy's fit, and as near to it as its optimiser comes to the maximum."""
    worst = {"parameters": 0.0, "nll": -np.inf}
    for x, a in zip(xs, ours):
        s = scipy_fit(x)
        unit = np.array([1, a[2], a[2]])  # parameters relative to the scale of the data
        worst["parameters"] = max(worst["parameters"], np.abs((a[:3] - s[:3]) / unit).max())
        worst["nll"] = max(worst["nll"], a[3] - s[3])
    return worst, {"parameters": 1e-6, "nll": 1e-8}


def compare_with_evd(text, ours):
    """The same for evd, whose standard errors come from a Hessian by differences."""
    worst = {"parameters": 0.0, "nll": -np.inf, "standard errors": 0.0}
    evds = run(["Rscript", "-e", R_SCRIPT], text)
    assert len(evds) == len(ours)
    for a, e in zip(ours, evds):
        unit = np.array([1, a[2], a[2]])
        worst["parameters"] = max(worst["parameters"], np.abs((a[:3] - e[:3]) / unit).max())
        worst["nll"] = max(worst["nll"], a[3] - e[3])
        worst["standard errors"] = max(worst["standard errors"], np.abs(a[4:7] / e[4:7] - 1).max())
    return worst, {"parameters": 1e-3, "nll": 1e-8, "standard errors": 1e-2}


def main():
    program, peer = sys.argv[1:]
    if peer == "evd" and not shutil.which("Rscript"):
        print("skipped: Rscript is not installed (r-base-core)")
        return 77
    if peer == "evd" and subprocess.run(["Rscript", "-e", "library(evd)"], capture_output=True).returncode:
        print("skipped: R has no package evd (r-cran-evd)")
        return 77
    xs = list(samples())
    text = "".join(" ".join(repr(float(v)) for v in x) + "\n" for x in xs)
    ours = run([program], text)
    assert len(ours) == len(xs) == SAMPLES * len(SHAPES)
    assert all(a[7] == 0 for a in ours), "an interior maximum exists"
    worst, limit = compare_with_evd(text, ours) if peer == "evd" else compare_with_scipy(xs, ours)
    print(peer, worst)
    failed = [name for name in worst if not worst[name] <= limit[name]]
    for name in failed:
        print(f"{name}: off by {worst[name]:.3g}, allowed {limit[name]:.3g}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
