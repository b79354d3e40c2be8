"""HotPotQA: questions whose answers need two pages, with tools to search them."""
