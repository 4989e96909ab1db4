"""A site whose every setting is other than ours, to run an agent's turn in."""
