"""The original repository's logs: what they say, and runs of the graph over it."""

from tests.replication.paper import compare as compare_with_papers
from tests.replication.paper_tables import published_table

__all__ = ["compare_with_papers", "published_table"]
