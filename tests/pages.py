"""Pages with Python: their blocks, run in order, which show what really comes."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
_BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def page(name: str) -> str:
    """Return the text of the page of this name under docs."""
    return (DOCS / name).read_text(encoding="utf-8")


def section(name: str, heading: str) -> str:
    """Return the text of one section of the page."""
    _, *parts = _SECTION.split(page(name))
    return dict(zip(parts[::2], parts[1::2], strict=True))[heading]


def has_python(text: str) -> bool:
    """Whether there is a block of Python in the text."""
    return bool(_BLOCK.search(text))


def executed(text: str, *, least_shown: int) -> dict[str, Any]:
    """Run the blocks of the text in order, see that they show what is so; return what they define.

    A block of `pycon` is an interpreter's session, one of `python` is code. Of the sessions there
    have to be `least_shown` steps.
    """
    names: dict[str, Any] = {}
    runner = doctest.DocTestRunner()
    for language, block in _BLOCK.findall(text):
        if language == "python":
            exec(block, names)
            continue
        examples = doctest.DocTestParser().get_doctest(block, names, "page", None, 0)
        runner.run(examples, clear_globs=False)
        names.update(examples.globs)
    assert runner.tries >= least_shown
    assert runner.failures == 0
    return names
