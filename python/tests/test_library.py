"""Where libkronorm is looked for: KRONORM_LIBRARY, beside the package, on the system; and what an import says when it
is not there, is another library or another version, or when a library that it needs is missing.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "kronorm"
LIBRARY = os.environ.get("KRONORM_LIBRARY", "")
SONAME = "libkronorm.so.0"
LOADED = """
import kronorm
print(*{line.split()[-1] for line in open("/proc/self/maps") if "libkronorm" in line})
"""


def names() -> list[str]:
    """The functions that the package looks for, without loading the library."""
    room: dict[str, object] = {}
    text = (PACKAGE / "_abi.py").read_text()
    exec(compile(text, "_abi.py", "exec"), room)
    return list(room["FUNCTIONS"])  # type: ignore[call-overload]


@unittest.skipUnless(LIBRARY, "KRONORM_LIBRARY names no library")
class Library(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name).resolve()
        self.package = self.work / "site" / "kronorm"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__", "libkronorm.so*"))

    def python(self, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """`code` in a Python that has the copy of the package, and of the three ways those that are given."""
        env = {key: value for key, value in os.environ.items() if key not in ("KRONORM_LIBRARY", "LD_LIBRARY_PATH")}
        env.update(variables, PYTHONPATH=str(self.work / "site"))
        return subprocess.run([sys.executable, "-c", code], env=env, cwd=self.work, text=True, capture_output=True)

    def loaded(self, **variables: str) -> str:
        run = self.python(LOADED, **variables)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.strip()

    def refused(self, *parts: str, **variables: str) -> None:
        """An ImportError of one sentence that has the parts; the interpreter lives."""
        run = self.python("try:\n import kronorm\nexcept ImportError as error: print(error)\nelse: print('none')",
                          **variables)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.count("\n"), 1, run.stdout)
        for part in parts:
            self.assertIn(part, run.stdout)

    def put(self, *path: str) -> str:
        """A copy of the library."""
        target = self.work.joinpath(*path)
        target.parent.mkdir(parents=True, exist_ok=True)
        return shutil.copyfile(LIBRARY, target).__str__()

    def compiled(self, name: str, text: str, *flags: str) -> str:
        target = self.work / name
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", target, *flags], input=text, text=True,
                       check=True)
        return str(target)

    def test_a_library_beside_the_package_is_found(self) -> None:
        beside = self.put("site", "kronorm", "libkronorm.so")
        self.assertEqual(self.loaded(), beside)

    def test_a_library_beside_the_package_may_have_its_version_in_its_name(self) -> None:
        beside = self.put("site", "kronorm", "libkronorm.so.0.2.0")
        self.assertEqual(self.loaded(), beside)

    def test_the_variable_comes_before_the_library_beside_the_package(self) -> None:
        self.put("site", "kronorm", "libkronorm.so")
        named = self.put("named", "libkronorm-of-mine.so")
        self.assertEqual(self.loaded(KRONORM_LIBRARY=named), named)

    def test_the_library_beside_the_package_comes_before_that_of_the_system(self) -> None:
        beside = self.put("site", "kronorm", "libkronorm.so")
        self.put("system", SONAME)
        self.assertEqual(self.loaded(LD_LIBRARY_PATH=str(self.work / "system")), beside)

    def test_the_library_of_the_system_is_found(self) -> None:
        there = self.put("system", SONAME)
        self.assertEqual(self.loaded(LD_LIBRARY_PATH=str(self.work / "system")), there)

    def test_without_a_library_the_three_ways_are_named(self) -> None:
        known = subprocess.run(["/sbin/ldconfig", "-p"], text=True, capture_output=True).stdout
        if SONAME in known:
            self.skipTest(f"{SONAME} is installed on this system")
        self.refused(SONAME, "beside the package", "system", "KRONORM_LIBRARY")

    def test_a_variable_that_names_nothing_is_told_by_its_name(self) -> None:
        self.put("site", "kronorm", "libkronorm.so")  # it would do, but another was asked for
        self.refused("KRONORM_LIBRARY", str(self.work / "nowhere.so"), KRONORM_LIBRARY=str(self.work / "nowhere.so"))

    def test_a_file_that_is_no_library_is_refused(self) -> None:
        text = self.work / "text.so"
        text.write_text("not a library\n")
        self.refused(str(text), KRONORM_LIBRARY=str(text))

    def test_another_library_is_refused(self) -> None:
        other = self.compiled("other.so", "int kn_nothing(void) { return 0; }\n")
        self.refused(other, "kn_", KRONORM_LIBRARY=other)

    def test_another_version_is_refused(self) -> None:
        text = 'const char *kn_version(void) { return "9.1.0"; }\n'
        text += "".join(f"void {name}(void) {{}}\n" for name in names() if name != "kn_version")
        other = self.compiled("other.so", text)
        self.refused(other, "9.1.0", KRONORM_LIBRARY=other)

    def needy(self, name: str) -> str:
        """A library that needs one which is not there."""
        gone = self.compiled("libgone.so.1", "int gone(void) { return 0; }\n", "-Wl,-soname,libgone.so.1")
        needy = self.compiled(name, "int gone(void); int kn(void) { return gone(); }\n", gone)
        os.remove(gone)
        return needy

    def test_a_library_of_the_system_that_is_missing_is_named_with_what_to_install(self) -> None:
        needy = self.needy("site/kronorm/libkronorm.so")
        self.refused(needy, "libgone.so.1", "libopenblas0-pthread", "libnlopt0")

    def test_one_that_an_installed_library_needs_is_named_too(self) -> None:
        (self.work / "system").mkdir()
        self.needy(f"system/{SONAME}")
        self.refused(SONAME, "libgone.so.1", "libnlopt0", LD_LIBRARY_PATH=str(self.work / "system"))


if __name__ == "__main__":
    unittest.main()
