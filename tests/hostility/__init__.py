"""What no well-meaning client sends, over sockets, to servers that serve the API."""
