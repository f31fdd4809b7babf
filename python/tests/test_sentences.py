"""What the library says reaches Python in words of Python: options as arguments, commands as methods."""
from __future__ import annotations

import pathlib
import re
import unittest

import kronorm
from kronorm import _abi
from kronorm._errors import CALLS, FLAGS, PHRASES, spelled
from kronorm._session import option_table

SOURCES = pathlib.Path(__file__).parents[2] / "src"
LAYERS = ("base", "commands", "cov", "data", "gp", "io", "la", "model", "norm", "report/input", "stats")  # of the library; a page has its own words
TEXTS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
COMMANDS = ("fit", "score", "predict", "adapt", "change", "report", "export", "cv", "centiles")


def sentences() -> list[str]:
    """Every text of the library's source, of several literals one."""
    files = [file for layer in LAYERS for file in sorted((SOURCES / layer).rglob("*.c"))]
    return ["".join(part[1:-1] for part in re.findall(r'"(?:[^"\\\n]|\\.)*"', found))
            for file in files for found in TEXTS.findall(file.read_text())]


class Sentences(unittest.TestCase):
    def test_no_sentence_of_the_library_sends_users_to_the_command(self) -> None:
        told = [s for s in sentences() if re.search(r"'kronorm \w+'|\{\w+(=[^}]*)?\}", s)]
        self.assertGreater(len(told), 100)
        self.assertTrue(any("'kronorm adapt'" in s for s in told))
        for sentence in told:
            with self.subTest(sentence):
                self.assertNotRegex(spelled(sentence), r"'kronorm |\{\w+(=[^}]*)?\}|(?<![\w-])--[a-z]")

    def test_texts_have_no_flags_of_the_command(self) -> None:
        for sentence in sentences():
            if " " in sentence.strip():
                self.assertNotRegex(sentence, r"(?<![\w-])--[a-z]")

    def test_phrases_are_those_of_the_library(self) -> None:
        told = sentences()
        for phrase, _ in PHRASES:
            self.assertTrue(any(phrase in s for s in told), phrase)
        for sentence in map(spelled, told):  # no way on that is none here
            self.assertNotRegex(sentence, r"\bmatch=|with where\b|use session\b")

    def test_calls_and_flags_are_there(self) -> None:
        for call in CALLS.values():
            self.assertTrue(hasattr(kronorm.NormativeModel, call.removesuffix("()")), call)
        kinds = {row["key"]: row["type"] for command in COMMANDS for row in option_table(command)}
        for flag in FLAGS:
            self.assertEqual(kinds[flag], _abi.KN_OPTION_FLAG)

    def test_as_python_writes_it(self) -> None:
        for told, expected in (
            ("use 'kronorm adapt' with healthy people, or {unseen=prior}", "use adapt() with healthy people, or unseen=\"prior\""),
            ("already exists; use {force} to replace it", "already exists; use force=True to replace it"),
            ("was fitted with {strip_ids} and keeps", "was fitted with strip_ids=True and keeps"),
            ("{known_groups}: there are none", "known_groups: there are none"),
            ("left out with {use} or {group=none}", "left out with use or group=\"none\""),
            ("covariates row 4: age is 'n/a'", "covariates row 3 (from 0): age is 'n/a'"),
            ("people.tsv line 4: age is 'n/a'", "people.tsv line 4: age is 'n/a'"),
            ("data of 'kronorm simulate'", "data of 'kronorm simulate'"),
        ):
            self.assertEqual(spelled(told), expected)


if __name__ == "__main__":
    unittest.main()
