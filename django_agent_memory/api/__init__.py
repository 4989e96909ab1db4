"""The HTTP edge: parse, authorise, call a verb of `Memory`, answer in JSON.

Nothing here takes its behaviour from the host's `REST_FRAMEWORK`: `base.Endpoint` pins all of it.
"""
