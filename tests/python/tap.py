"""Runs files of unittest and says in TAP how each test went: what meson shows and tools/summarise counts.

    tap.py FILE [PART OF A NAME ...]      all tests of the file, or those whose names have one of the parts

What tests print, and the programs they start, goes to stderr, so that nothing mixes with the TAP. A file that is
skipped when it is imported (unittest.SkipTest) is skipped whole. A file without tests fails.
"""
from __future__ import annotations

import faulthandler
import importlib.util
import os
import pathlib
import sys
import unittest


class Tap(unittest.TestResult):
    """One line for each test when it is over. Parts (subTest) that fail make their test fail."""

    def __init__(self, out):
        super().__init__()
        self.out, self.count, self.bad, self.wrong, self.note = out, 0, 0, None, ""

    def say(self, test, wrong, note=""):
        self.count += 1
        self.bad += wrong is not None
        name = ".".join(test.id().split(".")[-2:]).replace("#", "")
        for line in (wrong or "").splitlines():
            print("#", line, file=self.out)
        print("ok" if wrong is None else "not ok", self.count, "-", name + note, file=self.out, flush=True)

    def failed(self, test, text):
        if isinstance(test, (unittest.TestCase, type(None))):
            self.wrong = (self.wrong or "") + text
        else:  # setUpClass or setUpModule: there is no test that could be over
            self.say(test, text)

    def startTest(self, test):
        super().startTest(test)
        self.wrong, self.note = None, ""

    def stopTest(self, test):
        super().stopTest(test)
        self.say(test, self.wrong, self.note)

    def addError(self, test, err):
        self.failed(test, self._exc_info_to_string(err, test))

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.failed(test, f"{subtest}\n{self._exc_info_to_string(err, test)}")

    def addUnexpectedSuccess(self, test):
        self.failed(test, "it was expected to fail")

    def addSkip(self, test, reason):
        self.note = " # SKIP " + " ".join(reason.split())
        if not isinstance(test, unittest.TestCase):
            self.say(test, None, self.note)


def tests_of(path: pathlib.Path, parts: list[str]) -> unittest.TestSuite:
    sys.path.insert(0, str(path.parent))  # tests share modules of their folder
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{part}*" for part in parts] or None
    return loader.loadTestsFromModule(module)


def main() -> int:
    faulthandler.enable()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        suite = tests_of(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:])
    except unittest.SkipTest as reason:
        print("1..0 # SKIP", " ".join(str(reason).split()), file=out, flush=True)
        return 0
    if not suite.countTestCases():
        print("not ok 1 - there is a test\n1..1", file=out, flush=True)
        return 1
    result = Tap(out)
    suite.run(result)
    print(f"1..{result.count}", file=out, flush=True)
    return 1 if result.bad else 0


if __name__ == "__main__":
    sys.exit(main())
