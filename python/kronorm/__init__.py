"""Normative models of whole brain maps: what is normal for age, sex and site, and how people differ from it.

    model = kronorm.NormativeModel(batch="site").fit(X, Y)      X: DataFrame or array of covariates; Y: people x responses
    print(model.summary())                                      the model in words; model.cv_zscores_: may it be believed?
    model.zscore(X_new, Y_new)                                  where people differ
    model.score_people(X_new, Y_new)                            who differs: a row a person
    model.predict(X_new, return_std=True)                       what is expected of them
    model.adapt(X_controls, Y_controls)                         a model that knows a further site
    model.centiles("age")                                       curves; model.change(...): visits; model.report("page.html")
    model.save("model.safetensors"); kronorm.load(...)          the file of the command and of R
    kronorm.fit_images("participants.tsv", images, mask)        the same of brain images
    kronorm.options("fit")                                      every parameter, explained

docs/python.md has all of it by task.
"""
from __future__ import annotations

from . import _library
from ._errors import (Cancelled, DataError, FileError, KronormError, KronormWarning, NumericError, OptionError,
                      OutOfMemory)
from ._images import fit_images
from ._library import build
from ._options import options
from ._scores import Scores
from ._folders import Changes, HeldOut
from .model import NormativeModel, load

__version__ = str(build()["version"])

__all__ = ["Cancelled", "Changes", "DataError", "FileError", "HeldOut", "KronormError", "KronormWarning",
           "NormativeModel", "NumericError", "OptionError", "OutOfMemory", "Scores", "build", "fit_images", "load", "options"]


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__", "__version__"])
