from tests.support.sandbox.columns import bubblewrap, sandbox  # noqa: F401
