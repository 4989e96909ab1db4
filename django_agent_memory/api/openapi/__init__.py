"""The description of the HTTP API as OpenAPI 3.1, by drf-spectacular where a site has it.

`operations` and `components` are plain data and know nothing of drf-spectacular; `binding` hands
them to its generators, `views` serves them. Only the last two need it: import them late.
"""
