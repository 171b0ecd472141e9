"""Settings of the book that ``make docs`` builds from this folder, with Sphinx."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Nectar"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "book"]
root_doc = "index"
# Links to headings of other pages.
myst_heading_anchors = 3
# Docstrings have the sections that CONTRIBUTING.md asks for.
napoleon_google_docstring = False
napoleon_custom_sections = [("Members", "params_style"), "Timing"]
autodoc_member_order = "bysource"
# Only tests need it, so it may be missing here.
autodoc_mock_imports = ["cocotb"]
autodoc_default_options = {"members": True, "exclude-members": "elaborate"}
# The types in docstrings are words. Several classes may have one name, and no link is better than a wrong one.
suppress_warnings = ["ref.python"]
html_theme = "furo"
html_title = "Nectar"
html_static_path = ["book.css"]
html_css_files = ["book.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
