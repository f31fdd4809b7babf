"""What pages show runs: docs/reference/python.md statement by statement, what it prints is what the page says, and the example."""
from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from typing import Any

try:
    import nibabel  # noqa: F401
    import pandas
    import sklearn  # noqa: F401
except ImportError as error:
    raise unittest.SkipTest(f"the page needs pandas, nibabel and scikit-learn: {error}") from None

import kronorm  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: str) -> list[tuple[int, str]]:
    """First line and code of each block of Python."""
    text = (ROOT / page).read_text()
    return [(text[:found.start(1)].count("\n") + 1, found[1]) for found in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)]


def said_after(code: str) -> list[tuple[ast.stmt, str | None]]:
    """Each statement, and what the page says that it prints: lines of `#>` behind it. None: nothing is said."""
    lines = code.splitlines()
    statements = ast.parse(code).body
    ends = [statement.lineno - 1 for statement in statements[1:]] + [len(lines)]
    out: list[tuple[ast.stmt, str | None]] = []
    for statement, end in zip(statements, ends):
        told = [line[2:].removeprefix(" ") for line in lines[statement.end_lineno:end] if line.startswith("#>")]
        out.append((statement, "\n".join(told) + "\n" if told else None))
    return out


def does(statement: ast.stmt, names: dict[str, Any]) -> str:
    """What the prompt would show: prints, the value of an expression, or an error's class and sentence."""
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        try:
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), "page", "eval"), names)
                if value is not None:
                    print(repr(value))
            else:
                exec(compile(ast.Module([statement], []), "page", "exec"), names)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
            names["__raised__"] = True
    return heard.getvalue()


class Pages(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        warnings.simplefilter("ignore")

    def run_page(self, page: str) -> int:
        names: dict[str, Any] = {"__name__": "__main__"}
        checker, count = doctest.OutputChecker(), 0
        with pandas.option_context("display.width", 120, "display.max_columns", 20):
            for line, code in blocks(page):
                for statement, told in said_after(code):
                    heard = does(statement, names)
                    where = f"{page}:{line + statement.lineno - 1}"
                    if told is None:
                        self.assertFalse(names.pop("__raised__", False), f"{where}: {heard}")
                    else:
                        names.pop("__raised__", None)
                        self.assertTrue(checker.check_output(told, heard, LOOSELY), f"{where} says\n{told}and it is\n{heard}")
                        count += 1
        return count

    def test_python_page(self) -> None:
        self.assertGreater(self.run_page("docs/reference/python.md"), 15)

    def test_readme(self) -> None:
        self.assertEqual(len(blocks("README.md")), 1)
        self.run_page("README.md")

    def test_example(self) -> None:
        pathlib.Path("out").mkdir()
        run = subprocess.run([sys.executable, ROOT / "examples" / "normative.py", "out"], text=True, capture_output=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(os.listdir(), ["out"])
        self.assertLessEqual({"model.safetensors", "shared.safetensors", "report.html"}, set(os.listdir("out")))
        self.assertNotIn("nan", run.stdout.lower())
        for line in (r"cross-validated: mean z -?0\.0\d, mean z\^2 (0\.9|1\.0)\d", r"error: .*Ulm.*adapt\(\)",
                     "same z-scores from the file: True", r"AUC of the number of low regions: (0\.[89]|1\.0)"):
            self.assertRegex(run.stdout, line)

    def test_docstrings(self) -> None:
        public = {name: getattr(kronorm, name) for name in kronorm.__all__ if inspect.isfunction(getattr(kronorm, name))}
        public.update({name: method for name, method in inspect.getmembers(kronorm.NormativeModel, callable)
                       if not name.startswith("_") and method.__module__.startswith("kronorm")})
        self.assertGreater(len(public), 20)
        for name, function in public.items():
            told, signature = inspect.getdoc(function) or "", inspect.signature(function)
            with self.subTest(name):
                self.assertIn("Examples\n--------\n>>> ", told)
                if set(signature.parameters) - {"self", "model"}:
                    self.assertIn("Parameters\n----------\n", told)
                    for parameter in set(signature.parameters) - {"self", "model"}:
                        self.assertRegex(told, rf"(?m)^(\w+, )*\**{parameter}(, \w+)*( :|$)")
                if signature.return_annotation not in ("None", None):
                    self.assertIn("Returns\n-------\n", told)


if __name__ == "__main__":
    unittest.main()
