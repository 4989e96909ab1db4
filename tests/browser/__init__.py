"""The admin in a real browser; an environment of its own, see tests/requirements/browser.in."""
