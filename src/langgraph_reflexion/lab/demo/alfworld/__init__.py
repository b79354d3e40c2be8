"""Household tasks, as the demo model plays them."""
