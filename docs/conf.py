"""Sphinx configuration. tools/make_docs builds the site from a copy of docs/ with the generated pages beside it."""
import os
import pathlib
import re

project = "kronorm"
author = "the kronorm authors"
copyright = "the kronorm authors, BSD-3-Clause"
root = pathlib.Path(os.environ["KRONORM_ROOT"])
version = release = re.search(r"version: '([^']+)'", (root / "meson.build").read_text())[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "breathe", "sphinx_gallery.gen_gallery"]
exclude_patterns = []
myst_heading_anchors = 4
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
breathe_projects = {"kronorm": os.environ["KRONORM_DOXYGEN"]}
breathe_default_project = "kronorm"
breathe_domain_by_extension = {"h": "c"}
highlight_language = "none"
# The gallery runs the Python examples; make_docs copies them beside the source.
sphinx_gallery_conf = {"examples_dirs": str(pathlib.Path(os.environ["KRONORM_GALLERY"])), "gallery_dirs": "examples",
                       "filename_pattern": r"\.py$", "abort_on_example_error": True, "download_all_examples": False,
                       "show_memory": False, "min_reported_time": 3600}

html_theme = "furo"
html_title = f"kronorm {release}"
html_copy_source = False
html_show_sourcelink = False


def link_to_text(app, name, text):
    """Links to files outside docs/ lead nowhere in the site: show them as text."""
    text[0] = re.sub(r"(?<!!)\[([^\]]*)\]\((?:\.\./)+(?:bench|examples|tests|src|experiments|tools|include|README|CITATION)[^)]*\)",
                     r"\1", text[0])


def setup(app):
    app.connect("source-read", link_to_text)
