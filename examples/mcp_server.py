"""A server of the Model Context Protocol (MCP): a language model plays with two tools, over stdio.

pip install fastmcp
claude mcp add solitaire -- python examples/mcp_server.py
"""

from fastmcp import FastMCP

from solitaire_env.text import SolitaireTool

player = SolitaireTool()
server = FastMCP("solitaire")
server.tool(player.move)


@server.tool
def new_game(game: str = "klondike", deal: int | None = None) -> str:
    """Start a game, of a numbered deal or at random: its rules, its board and its legal moves."""
    return player.reset(game, deal)


if __name__ == "__main__":
    server.run(show_banner=False)
