"""The description against a real server: fuzzed by schemathesis, and as a generated client.

Not in the usual run: they need tests/requirements/contract.txt, as the job Contract has them.
"""
