"""Normative models of whole-brain maps: the distribution of brain measures given age, sex and site, and how far
individuals deviate from it::

    model = kronorm.NormativeModel(batch="site").fit(X, Y)      X: DataFrame or array of covariates; Y: participants x
    responses print(model.summary())                                      description; model.cv_zscores_:
    cross-validated z-scores model.zscore(X_new, Y_new)                                  z-score maps
    model.score_participants(X_new, Y_new)                      statistics of abnormality, one row per participant
    model.predict(X_new, return_std=True)                       predictive mean and standard deviation
    model.adapt(X_controls, Y_controls)                         a model adapted to a new site model.centiles("age")
    centile curves; model.change(...): visits; model.report("page.html") model.save("model.safetensors");
    kronorm.load(...)          the file of the command and of R kronorm.fit_images("participants.tsv", images, mask)
    a model of brain images kronorm.options("fit")                                      every parameter, explained

See docs/reference/python.md for an introduction by task."""
from __future__ import annotations

from . import _library
from ._errors import (Cancelled, DataError, FileError, KronormError, KronormWarning, NumericError, OptionError,
                      OutOfMemory)
from ._images import fit_images
from ._library import build
from ._options import options
from ._read_files import read_bids, read_freesurfer
from ._scores import Scores
from ._folders import Changes, HeldOut
from .model import NormativeModel, load

__version__ = str(build()["version"])

__all__ = ["Cancelled", "Changes", "DataError", "FileError", "HeldOut", "KronormError", "KronormWarning",
           "NormativeModel", "NumericError", "OptionError", "OutOfMemory", "Scores", "build", "fit_images", "load",
           "options", "read_bids", "read_freesurfer"]


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__", "__version__"])
