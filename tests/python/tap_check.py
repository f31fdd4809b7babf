"""tap.py says of each way in which a test can end what it should, and fails where one fails: without that, no test of
the Python package could.
"""
import pathlib
import subprocess
import sys
import tempfile

TESTS = '''
import os, unittest
class A(unittest.TestCase):
    def test_1_good(self): print("not ok 9 - printed"); os.system("echo not ok 9 - printed")
    def test_2_false(self): self.assertEqual(1, 2)
    def test_3_raised(self): raise KeyError("x")
    def test_4_part(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)
    @unittest.skip("not here")
    def test_5_skipped(self): pass
    def test_6_cleanup(self): self.addCleanup(lambda: 1 / 0)
    @unittest.expectedFailure
    def test_7_expected(self): self.fail()
    @unittest.expectedFailure
    def test_8_unexpected(self): pass
class B(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError("never ready")
    def test_1(self): pass
class C(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise unittest.SkipTest("no data")
    def test_1(self): pass
'''
EXPECTED = ["ok 1 - A.test_1_good", "not ok 2 - A.test_2_false", "not ok 3 - A.test_3_raised", "not ok 4 - A.test_4_part",
            "ok 5 - A.test_5_skipped # SKIP not here", "not ok 6 - A.test_6_cleanup", "ok 7 - A.test_7_expected",
            "not ok 8 - A.test_8_unexpected", "not ok 9 - setUpClass (test_x.B)",
            "ok 10 - setUpClass (test_x.C) # SKIP no data", "1..10"]


def tap(text, *parts):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "test_x.py")
        path.write_text(text)
        run = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("tap.py"), path, *parts], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return run.returncode, [line for line in run.stdout.splitlines() if not line.startswith("#")]


def same(found, expected):
    if found != expected:
        sys.exit(f"found    {found}\nexpected {expected}")


same(tap(TESTS), (1, EXPECTED))
same(tap(TESTS, "good", "5_"), (0, [EXPECTED[0], "ok 2 - A.test_5_skipped # SKIP not here", "1..2"]))
same(tap(TESTS, "no such name"), (1, ["not ok 1 - there is a test", "1..1"]))
same(tap("import unittest\nraise unittest.SkipTest('no pandas')"), (0, ["1..0 # SKIP no pandas"]))
same(tap("import no_such_module")[0], 1)
same(tap("import os, unittest\nclass A(unittest.TestCase):\n    def test(self): os.abort()")[0] < 0, True)
print("every way a test can end is told")
