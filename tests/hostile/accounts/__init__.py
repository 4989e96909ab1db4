"""The hostile site's users."""
