"""The wheel, as a user of a clone makes it and another installs it: built in a copy of the sources, which then is moved
away, and installed into a virtual environment without a network and without a home.

    KRONORM_SOURCE=SOURCES KRONORM_BUILT=LIBRARY tap.py wheel_check.py

The library in it is compiled for this, without optimisation: it is built once more and need not be fast.
"""
from __future__ import annotations

import ast
import base64
import email
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(os.environ["KRONORM_SOURCE"])
BUILT = os.environ["KRONORM_BUILT"]
VERSION = re.search(r"version: '([0-9.]+)'", (SOURCE / "meson.build").read_text())[1]
INFO = f"kronorm-{VERSION}.dist-info"
# What a build takes, and no more: something else that it came to need would be missed here.
NEEDED = ("Makefile", "meson.build", "meson_options.txt", "LICENSE", "include", "src", "tools", "python")
# What lies about where people work, and belongs to nobody's wheel.
LITTER = ("python/build/lib/kronorm/old.py", "python/build/lib.linux-x86_64-cpython-311/kronorm/old.py",
          "python/build/bdist.linux-x86_64/wheel/kronorm/old.py", "python/kronorm/__pycache__/old.cpython-311.pyc",
          "python/kronorm/notes.txt", "python/kronorm/libkronorm.so.0", "python/kronorm/_library.py.orig",
          "python/kronorm/tests/test_old.py", "python/kronorm.egg-info/old.txt")
SMOKE = """
import numpy as np, kronorm
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libkronorm" in line}
print(*loaded)
print(kronorm.__file__)
print(kronorm.__version__)
rng = np.random.default_rng(1)
age = rng.uniform(20, 80, 60)
X, Y = age[:, None], 3 - 0.02 * age[:, None] + 0.1 * rng.standard_normal((60, 4))
model = kronorm.NormativeModel(folds=5).fit(X, Y)
z = np.asarray(model.zscore(X[:3], Y[:3] + [[0], [0], [1.0]]))
assert z.shape == (3, 4) and np.all(z[2] > 3) and np.all(np.abs(z[:2]) < 4), z
"""

ROOM = tempfile.TemporaryDirectory()
WORK = pathlib.Path(ROOM.name).resolve()


def setUpModule() -> None:
    """The wheel; its copy of the sources is then somewhere else."""
    global WHEEL
    unittest.addModuleCleanup(ROOM.cleanup)
    tree = copied("tree")
    for name in LITTER:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old\n")
    (tree / "python/kronorm.egg-info/SOURCES.txt").write_text("kronorm/notes.txt\nkronorm/tests/test_old.py\n")
    run = build(tree, CFLAGS="-O0")
    if run.returncode:
        raise AssertionError(run.stdout)
    (WORK / "moved").mkdir()
    tree.rename(WORK / "moved" / "away")
    (WHEEL,) = (WORK / "moved" / "away" / "python" / "dist").iterdir()


def copied(name: str) -> pathlib.Path:
    for part in NEEDED:
        target = WORK / name / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (SOURCE / part).is_dir():
            skip = shutil.ignore_patterns("__pycache__", "build", "dist", "*.egg-info", "libkronorm.so*")
            shutil.copytree(SOURCE / part, target, symlinks=True, ignore=skip)
        else:
            shutil.copy(SOURCE / part, target)
    return WORK / name


def surroundings(**variables: str) -> dict[str, str]:
    """No home, no network, and nothing that could lead to another kronorm."""
    drop = ("KRONORM_LIBRARY", "PYTHONPATH", "LD_LIBRARY_PATH", "SOURCE_DATE_EPOCH", "PYTHONDONTWRITEBYTECODE",
            "MAKEFLAGS", "DESTDIR", "CFLAGS", "VIRTUAL_ENV")
    env = {key: value for key, value in os.environ.items() if key not in drop}
    env.setdefault("CCACHE_DIR", os.path.expanduser("~/.cache/ccache"))
    nowhere = "http://127.0.0.1:9"
    env.update(HOME="/dev/null", http_proxy=nowhere, https_proxy=nowhere, **variables)
    return env


def build(tree: pathlib.Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The line of the README."""
    return subprocess.run([sys.executable, "-m", "build", "--no-isolation", *(options or ["--wheel"])],
                          cwd=tree / "python", env=surroundings(**variables), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def made(name: str, **variables: str) -> pathlib.Path:
    """A wheel of another copy, with the library of the first."""
    library = WORK / "the_library.so"
    if not library.exists():
        library.write_bytes(zipfile.ZipFile(WHEEL).read("kronorm/libkronorm.so"))
    tree = copied(name)
    run = build(tree, KRONORM_LIBRARY=str(library), **variables)
    if run.returncode:
        raise AssertionError(run.stdout)
    (wheel,) = (tree / "python" / "dist").iterdir()
    return wheel


class Wheel(unittest.TestCase):
    def setUp(self) -> None:
        self.zip = zipfile.ZipFile(WHEEL)
        self.addCleanup(self.zip.close)

    def test_it_is_for_every_python_3_of_this_platform(self) -> None:
        machine = os.uname().machine
        self.assertEqual(WHEEL.name, f"kronorm-{VERSION}-py3-none-linux_{machine}.whl")
        told = email.message_from_bytes(self.zip.read(f"{INFO}/WHEEL"))
        self.assertEqual(told.get_all("Tag"), [f"py3-none-linux_{machine}"])
        self.assertEqual(told["Root-Is-Purelib"], "false")

    def test_it_has_the_package_the_library_and_nothing_else(self) -> None:
        package = {f"kronorm/{path.relative_to(SOURCE / 'python' / 'kronorm')}"
                   for path in (SOURCE / "python" / "kronorm").rglob("*.py")}
        info = {f"{INFO}/{name}" for name in ("LICENSE", "METADATA", "RECORD", "WHEEL", "top_level.txt")}
        expected = package | info | {"kronorm/py.typed", "kronorm/libkronorm.so"}
        self.assertEqual(sorted(self.zip.namelist()), sorted(expected))
        self.assertIn("kronorm/__init__.py", package)

    def test_every_file_is_on_record(self) -> None:
        rows = [line.rsplit(",", 2) for line in self.zip.read(f"{INFO}/RECORD").decode().splitlines()]
        self.assertEqual(sorted(row[0] for row in rows), sorted(self.zip.namelist()))
        for name, digest, size in rows:
            if name == f"{INFO}/RECORD":
                continue
            data = self.zip.read(name)
            sha = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            self.assertEqual((digest, size), (f"sha256={sha}", str(len(data))), name)

    def test_it_says_what_it_is_and_needs(self) -> None:
        told = email.message_from_bytes(self.zip.read(f"{INFO}/METADATA"))
        self.assertEqual((told["Name"], told["Version"], told["License"]), ("kronorm", VERSION, "BSD-3-Clause"))
        self.assertEqual(told["Requires-Python"], ">=3.9")
        always = [need for need in told.get_all("Requires-Dist") if "extra" not in need]
        self.assertEqual(always, ["numpy"])
        self.assertEqual({"pandas", "nibabel", "scikit-learn"} - set(told.get_all("Provides-Extra")), set())
        self.assertIn("libnlopt0", told.get_payload())
        self.assertEqual(self.zip.read(f"{INFO}/LICENSE"), (SOURCE / "LICENSE").read_bytes())

    def test_its_python_is_that_of_the_oldest_it_promises(self) -> None:
        for name in self.zip.namelist():
            if name.endswith(".py"):
                ast.parse(self.zip.read(name), name, feature_version=(3, 9))

    def test_nothing_in_it_is_of_the_machine_that_built_it(self) -> None:
        for name in self.zip.namelist():
            data = self.zip.read(name)
            for trace in (str(WORK), str(SOURCE), "build-python"):
                self.assertNotIn(trace.encode(), data, name)

    def test_the_library_is_stripped_and_finds_others_in_folders_of_the_system(self) -> None:
        library = WORK / "looked_at.so"
        library.write_bytes(self.zip.read("kronorm/libkronorm.so"))
        sections = subprocess.check_output(["readelf", "-SW", library], text=True)
        self.assertNotRegex(sections, r"\.(debug|symtab)")
        dynamic = subprocess.check_output(["readelf", "-dW", library], text=True)
        self.assertIn("[libkronorm.so.0]", dynamic)
        for folders in re.findall(r"(?:RUNPATH|RPATH).*\[(.*)\]", dynamic):
            for folder in folders.split(":"):
                self.assertRegex(folder, r"^/usr/lib/")

    def test_files_have_one_time_and_plain_permissions(self) -> None:
        self.assertEqual({entry.date_time for entry in self.zip.infolist()}, {(1980, 1, 1, 0, 0, 0)})
        for entry in self.zip.infolist():
            if entry.filename != f"{INFO}/RECORD":  # which wheel itself writes
                self.assertEqual(oct(entry.external_attr >> 16), oct(0o100644), entry.filename)


class Again(unittest.TestCase):
    def test_the_same_bytes_elsewhere_with_another_umask_and_without_litter(self) -> None:
        before = os.umask(0o077)
        try:
            other = made("again")
        finally:
            os.umask(before)
        self.assertEqual(other.name, WHEEL.name)
        self.assertTrue(other.read_bytes() == WHEEL.read_bytes(), "the two wheels differ")

    def test_source_date_epoch_is_heard(self) -> None:
        wheel = zipfile.ZipFile(made("dated", SOURCE_DATE_EPOCH="1600000000"))
        self.assertEqual({entry.date_time for entry in wheel.infolist()}, {(2020, 9, 13, 12, 26, 40)})

    def refused(self, run: subprocess.CompletedProcess[str], sentence: str) -> None:
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("kronorm: ", run.stdout)
        self.assertIn(sentence, run.stdout)

    def test_a_wheel_with_another_library_is_not_made(self) -> None:
        tree = copied("other")
        text = WORK / "text.so"
        text.write_text("no library\n")
        self.refused(build(tree, KRONORM_LIBRARY=str(text)), "KRONORM_LIBRARY is not a libkronorm that loads")
        old = WORK / "old.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", old], check=True, text=True,
                       input='const char *kn_version(void) { return "0.1.0"; }\n')
        self.refused(build(tree, KRONORM_LIBRARY=str(old)), f"is version 0.1.0, the package is {VERSION}")
        self.assertFalse(list((tree / "python").glob("dist/*")))

    def test_versions_that_differ_are_told(self) -> None:
        tree = copied("versions")
        header = tree / "include" / "kronorm.h"
        header.write_text(header.read_text().replace("#define KN_VERSION_MAJOR 0", "#define KN_VERSION_MAJOR 7"))
        self.refused(build(tree, KRONORM_LIBRARY=BUILT), f"meson.build has version {VERSION}, include/kronorm.h 7")

    def test_a_source_distribution_is_refused_by_a_sentence(self) -> None:
        tree = copied("sdist")
        self.refused(build(tree, "--sdist"), "there is no source distribution of the package alone")

    def test_outside_of_a_clone_a_sentence_says_so(self) -> None:
        tree = copied("alone")
        shutil.move(tree / "python", WORK / "alone_too")
        (WORK / "elsewhere").mkdir()
        shutil.move(WORK / "alone_too", WORK / "elsewhere" / "python")
        self.refused(build(WORK / "elsewhere"), "a wheel is made in the folder python of a clone")


class FrontDoor(unittest.TestCase):
    """What the README says, with the library that was built already."""

    def shell(self, tree: pathlib.Path, line: str) -> str:
        path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"  # the python3 that has Debian's packages
        run = subprocess.run(["sh", "-ec", line], cwd=tree, env=surroundings(KRONORM_LIBRARY=BUILT, PATH=path), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def test_the_three_lines_of_the_python_page(self) -> None:
        text = (SOURCE / "docs/reference/python.md").read_text()
        (lines,) = re.findall(r"\n\n((?:    .*\n)*    \(cd python && python3 -m build .*\n(?:    .*\n)*)", text)
        self.assertEqual(lines.count("\n"), 3)
        tree = copied("lines")
        self.shell(tree, lines)
        self.assertEqual(self.shell(tree, "cd / && $OLDPWD/venv/bin/python -c 'import kronorm; print(kronorm.__version__)'"),
                         VERSION + "\n")

    def test_make_python_twice_and_clean(self) -> None:
        tree = copied("front")
        before = sorted(tree.rglob("*"))
        for _ in range(2):
            told = self.shell(tree, "make -s python")
            self.assertIn(f"kronorm {VERSION} is in venv", told)
        line = re.search(r"use it:  (.*)", told)[1]
        self.assertEqual(self.shell(tree, line), VERSION + "\n")
        self.shell(tree, "make -s clean")
        self.assertEqual(sorted(tree.rglob("*")), before)

    def test_a_folder_of_somebody_is_left_alone(self) -> None:
        tree = copied("somebody")
        (tree / "venv").mkdir()
        (tree / "venv" / "mine").write_text("mine\n")
        told = self.shell(tree, "! make -s python")
        self.assertIn("is no virtual environment", told)
        self.shell(tree, "make -s clean")
        self.assertEqual([path.name for path in (tree / "venv").iterdir()], ["mine"])


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.venv = WORK / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", cls.venv], check=True,
                       env=surroundings())
        cls.pip("install", "--no-index", "--no-deps", str(WHEEL))

    @classmethod
    def pip(cls, *words: str) -> None:
        subprocess.run([cls.venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", *words],
                       check=True, env=surroundings(), cwd="/")

    def python(self, code: str) -> str:
        run = subprocess.run([self.venv / "bin" / "python", "-c", code], cwd="/", env=surroundings(), text=True,
                             capture_output=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_1_it_fits_and_scores_with_its_own_library(self) -> None:
        loaded, package, version = self.python(SMOKE).splitlines()[:3]
        self.assertEqual(version, VERSION)
        self.assertEqual(pathlib.Path(loaded), pathlib.Path(package).parent / "libkronorm.so")
        self.assertTrue(loaded.startswith(str(self.venv)), loaded)

    def test_1_the_example_of_the_readme_runs(self) -> None:
        (text,) = re.findall(r"\n```python\n(.*?)```", (SOURCE / "README.md").read_text(), re.S)
        text += "assert z.shape == (1, 50) and len(summary) == 1 and 'deviance' in summary.columns\n"
        self.python(text)

    def test_2_types_reach_its_users(self) -> None:
        site = next((self.venv / "lib").glob("python3*/site-packages"))
        self.assertTrue((site / "kronorm" / "py.typed").exists())

    def test_3_it_is_installed_over_itself_and_leaves_nothing_behind(self) -> None:
        self.pip("install", "--no-index", "--no-deps", "--force-reinstall", str(WHEEL))
        self.pip("uninstall", "--yes", "kronorm")
        self.assertEqual(list(self.venv.rglob("*kronorm*")), [])


class Alone(unittest.TestCase):
    """A Python that has numpy and nothing else: no pandas, nibabel, scikit-learn, tqdm."""

    def test_it_fits_and_scores_with_numpy_alone(self) -> None:
        venv = WORK / "bare"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, env=surroundings())
        site = next((venv / "lib").glob("python3*/site-packages"))
        numpy = pathlib.Path(importlib.util.find_spec("numpy").origin).parent
        (site / "numpy").symlink_to(numpy)
        if numpy.with_name("numpy.libs").is_dir():  # a numpy that is not Debian's has libraries beside it
            (site / "numpy.libs").symlink_to(numpy.with_name("numpy.libs"))
        with zipfile.ZipFile(WHEEL) as wheel:
            wheel.extractall(site)
        others = "import importlib.util as u\nassert not any(u.find_spec(n) for n in ('pandas', 'sklearn', 'nibabel', 'tqdm'))\n"
        run = subprocess.run([venv / "bin" / "python", "-c", others + SMOKE], cwd="/", env=surroundings(), text=True,
                             capture_output=True)
        self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    unittest.main()
