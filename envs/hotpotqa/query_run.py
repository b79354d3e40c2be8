"""LangChain's Wikipedia tool as a source of pages, for those who know it."""

import re
import warnings
from typing import TYPE_CHECKING

from langgraph_reflexion.envs.hotpotqa.mediawiki import MediaWiki
from langgraph_reflexion.envs.hotpotqa.pages import Missing, Page
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable

if TYPE_CHECKING:
    from langchain_community.tools import WikipediaQueryRun

_NOTHING = "No good Wikipedia Search Result was found"


def wikipedia_query_run(wiki: MediaWiki, results: int = 3) -> "WikipediaQueryRun":
    """The tool `WikipediaQueryRun` of langchain-community, by way of our transport.

    Args:
        wiki: The wiki that it asks.
        results: How many pages it tells of.

    Raises:
        EnvironmentUnavailable: langchain-community is not installed.
    """
    try:
        with warnings.catch_warnings():
            # Said on every import: that there will be no further release.
            warnings.filterwarnings("ignore", message="`langchain-community` is being sunset")
            from langchain_community.tools import WikipediaQueryRun
            from langchain_community.utilities import WikipediaAPIWrapper
    except ImportError as error:
        raise EnvironmentUnavailable(f"langchain-community cannot be imported: {error}") from error
    # Its validator would put the package's own client here, and set the language of the whole process.
    wrapper = WikipediaAPIWrapper.model_construct(wiki_client=wiki.client, top_k_results=results)
    return WikipediaQueryRun(api_wrapper=wrapper)


class QueryRunPages:
    """What `WikipediaQueryRun` says on a title, as one page: summaries of the pages that a search ranks first.

    It finds something for nearly every title, hence seldom names similar ones.

    Args:
        wiki: The wiki that it asks.
    """

    replays = False

    def __init__(self, wiki: MediaWiki) -> None:
        self.wiki = wiki
        self._tool = wikipedia_query_run(wiki)

    def find(self, entity: str) -> Page | Missing:
        """What the tool says; see `Pages.find`."""
        try:
            told = str(self._tool.api_wrapper.run(entity))
        except EnvironmentFault:
            raise
        # As in `MediaWiki.find`.
        except Exception as error:
            self.wiki.transport.garbage(error)
        told = re.sub(r"^Page: (.*)\nSummary: ", r"\1: ", told, flags=re.MULTILINE)
        return Missing() if told == _NOTHING else Page.from_text(entity, told)

    def close(self) -> None:
        """Close the connections."""
        self.wiki.close()
