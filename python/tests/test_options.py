"""Parameters are the options of the library, all that make sense in memory, with its defaults."""
from __future__ import annotations

import inspect
import unittest
from typing import Any

import kronorm
from kronorm import _params
from kronorm._session import option_table

# not options of the library: what this package needs itself
OWN = {"progress"}
# methods and the commands whose options they take, by another name, and those they have no use for
FILES = {"model", "covariates", "id", "where", "session", "responses", "match", "memory", "scratch", "output", "split",
         "format", "threads", "seed", "force", "missing", "mask", "write", "part", "join", "na", "measure", "atlas", "suffix", "space", "desc", "entities",
         "bids_output"}
METHODS: dict[str, tuple[str, set[str], set[str]]] = {
    "scores": ("score", {"X", "Y", "maps"}, set()),
    "predict": ("predict", {"X", "return_std"}, set()),
    "adapt": ("adapt", {"X", "Y"}, set()),
    "centiles": ("centiles", {"X", "Y", "training", "table", "folder", "force"}, {"participants"}),
    "change": ("change", {"X", "Y"}, {"save"}),
    "export": ("export", {"path", "force"}, set()),
}


def rows(command: str) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in option_table(command)}


def parameters(function: Any) -> dict[str, Any]:
    return {name: p.default for name, p in inspect.signature(function).parameters.items() if name not in ("self", "cls")}


class Options(unittest.TestCase):
    def test_every_option_of_fit_is_a_parameter(self) -> None:
        asked = set(rows("fit")) - set(_params.NOT_IN_MEMORY)
        self.assertEqual(set(parameters(kronorm.NormativeModel)) - OWN, asked)
        self.assertLessEqual(set(_params.NOT_IN_MEMORY), set(rows("fit")))

    def test_defaults_are_the_library_s(self) -> None:
        given = parameters(kronorm.NormativeModel)
        for key, row in rows("fit").items():
            if key in given and key != "threads":  # None: those of the context
                with self.subTest(key):
                    self.assertEqual(given[key], _params.default(row))
                    self.assertIs(type(given[key]), type(_params.default(row)))

    def test_every_option_of_a_command_is_in_its_method(self) -> None:
        for method, (command, own, other) in METHODS.items():
            given = parameters(getattr(kronorm.NormativeModel, method))
            with self.subTest(method):
                self.assertEqual(set(given) - own, set(rows(command)) - FILES - other | set(given) & {"targets"})
            for key in set(given) - own:
                with self.subTest(method, key=key):
                    if given[key] is not inspect.Parameter.empty:
                        self.assertEqual(self.as_text(given[key]), rows(command)[key]["preferred"])

    @staticmethod
    def as_text(value: Any) -> str | None:
        from kronorm._session import text
        return text(value)

    def test_cv_takes_what_fit_takes(self) -> None:
        more = set(rows("cv")) - set(rows("fit")) - FILES
        self.assertEqual(more, set(parameters(kronorm.NormativeModel.cv)) - {"X", "Y", "maps", "folds", "mask"} | {"split"} - FILES)

    def test_a_default_that_is_given_is_no_option(self) -> None:
        """What the command would not be told is not told: model files are the same."""
        import contextlib
        from cohort import cohort
        from kronorm._covariates import covariates
        X, _ = cohort(20)
        model = kronorm.NormativeModel(noise="structured", folds=10, top=.05, components=4, standardise=False, max_seconds=0)
        with contextlib.ExitStack() as stack:
            told = _params.values(model, "fit", covariates(X), stack)
        self.assertEqual(told, {"components": "4", "standardise": "no"})

    def test_table(self) -> None:
        table = kronorm.options("fit")
        self.assertEqual(list(table["option"]), list(rows("fit")))
        with self.assertRaisesRegex(ValueError, "no command 'fti'"):
            kronorm.options("fti")

    def test_wrong_values_are_refused_with_the_library_s_sentence(self) -> None:
        from cohort import cohort
        X, Y = cohort(20)
        for params, sentence in (({"noise": "pink"}, "noise"), ({"components": 0.5}, "components"),
                                 ({"folds": -1}, "folds"), ({"method": "kronsum", "components": 3}, "components"),
                                 ({"batch": "clinic"}, "clinic"), ({"use": [7]}, "column 7"), ({"top": 3.0}, "top"),
                                 ({"threads": "many"}, "threads is 'many'"), ({"memory": "much"}, "memory")):
            with self.subTest(**params), self.assertRaisesRegex(ValueError, sentence):
                kronorm.NormativeModel(**params).fit(X, Y)


if __name__ == "__main__":
    unittest.main()
