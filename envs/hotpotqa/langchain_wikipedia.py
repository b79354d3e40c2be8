"""LangChain's Wikipedia tool as a source of pages."""

import re
import warnings

from langgraph_reflexion.envs.hotpotqa.mediawiki import MediaWiki
from langgraph_reflexion.envs.hotpotqa.pages import Missing, Page
from langgraph_reflexion.errors import EnvironmentFault, EnvironmentUnavailable

_NOTHING = "No good Wikipedia Search Result was found"


class LangChainPages:
    """The output of langchain-community's `WikipediaQueryRun` as one page: summaries of the pages ranked first.

    It finds something for nearly every title, and so seldom returns similar titles.

    Args:
        wiki: The wiki, whose HTTP client the tool uses.

    Raises:
        EnvironmentUnavailable: langchain-community is not installed.
    """

    replays = False

    def __init__(self, wiki: MediaWiki) -> None:
        try:
            with warnings.catch_warnings():
                # The notice of every import that there will be no further release.
                warnings.filterwarnings("ignore", message="`langchain-community` is being sunset")
                from langchain_community.tools import WikipediaQueryRun
                from langchain_community.utilities import WikipediaAPIWrapper
        except ImportError as error:
            raise EnvironmentUnavailable(f"langchain-community cannot be imported: {error}") from error
        self.wiki = wiki
        # Not validated: that would insert the package's own client, and set the language of the whole process.
        wrapper = WikipediaAPIWrapper.model_construct(wiki_client=wiki.client)
        self.tool = WikipediaQueryRun(api_wrapper=wrapper)

    def find(self, entity: str) -> Page | Missing:
        try:
            output = str(self.tool.api_wrapper.run(entity))
        except EnvironmentFault:
            raise
        except Exception as error:
            # Raises a fault, as in `MediaWiki.find`.
            self.wiki.unexpected(error)
        # Each summary becomes one paragraph: a short title on a line of its own would be dropped.
        output = re.sub(r"^Page: (.*)\nSummary: ", r"\1: ", output, flags=re.MULTILINE)
        if output == _NOTHING:
            return Missing()
        return Page.from_text(entity, output)

    def close(self) -> None:
        self.wiki.close()
