"""A site to look at the package in: `manage.py demo` fills it and serves it."""
