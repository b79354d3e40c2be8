"""An MCP server for tests, on the `mcp` SDK: `python mcp_server.py` for stdio, with a port for streamable HTTP."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, TypedDict

from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextResourceContents
from pydantic import Field

lines = list[str]()
server = FastMCP("notes", port=int(sys.argv[1]) if sys.argv[1:] else 0, log_level="ERROR")


class Counted(TypedDict):
    lines: int


@server.tool()
def write(text: Annotated[str, Field(description="what to write")]) -> str:
    """Write a line."""
    if not text:
        raise ToolError("a line is not empty")
    lines.append(text)
    return f"{len(lines)} lines"


@server.tool()
def count() -> Counted:
    """Count the lines."""
    return {"lines": len(lines)}


@server.tool(structured_output=False)
def show() -> list[object]:
    """Show what is not text."""
    return [
        ImageContent(type="image", data="aGk=", mimeType="image/png"),
        AudioContent(type="audio", data="aGk=", mimeType="audio/wav"),
        ResourceLink(type="resource_link", uri="note://1", name="the note", description="It is short."),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri="note://2", text="Some\ntext.")),
    ]


@server.tool()
async def die(after: float = 0) -> str:
    """End the process."""
    await asyncio.sleep(after)
    print("the disk is full", file=sys.stderr, flush=True)
    os._exit(3)


if __name__ == "__main__":
    if log := os.environ.get("STARTED"):
        with Path(log).open("a") as file:
            print(os.getpid(), file=file)
    server.run("streamable-http" if sys.argv[1:] else "stdio")
