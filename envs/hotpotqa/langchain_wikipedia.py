"""LangChain's Wikipedia tool as a source of pages."""

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
    """Return langchain-community's tool `WikipediaQueryRun` over our HTTP client.

    Args:
        wiki: The wiki.
        results: The number of pages in its output.

    Raises:
        EnvironmentUnavailable: langchain-community is not installed.
    """
    try:
        with warnings.catch_warnings():
            # The notice of every import that there will be no further release.
            warnings.filterwarnings("ignore", message="`langchain-community` is being sunset")
            from langchain_community.tools import WikipediaQueryRun
            from langchain_community.utilities import WikipediaAPIWrapper
    except ImportError as error:
        raise EnvironmentUnavailable(f"langchain-community cannot be imported: {error}") from error
    # Its validator would insert the package's own client, and set the language of the whole process.
    wrapper = WikipediaAPIWrapper.model_construct(wiki_client=wiki.client, top_k_results=results)
    return WikipediaQueryRun(api_wrapper=wrapper)


class LangChainPages:
    """The output of `WikipediaQueryRun` as one page: summaries of the pages that a search ranks first.

    It finds something for nearly every title, and so seldom returns similar titles.

    Args:
        wiki: The wiki.
    """

    replays = False

    def __init__(self, wiki: MediaWiki) -> None:
        self.wiki = wiki
        self._tool = wikipedia_query_run(wiki)

    def find(self, entity: str) -> Page | Missing:
        try:
            output = str(self._tool.api_wrapper.run(entity))
        except EnvironmentFault:
            raise
        # As in `MediaWiki.find`.
        except Exception as error:
            self.wiki.api.unexpected(error)
        output = re.sub(r"^Page: (.*)\nSummary: ", r"\1: ", output, flags=re.MULTILINE)
        return Missing() if output == _NOTHING else Page.from_text(entity, output)

    def close(self) -> None:
        self.wiki.close()
