"""HotPotQA: questions whose answers take two pages, with tools to search them."""
