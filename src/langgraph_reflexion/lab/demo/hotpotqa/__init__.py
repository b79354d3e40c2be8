"""Questions and claims, as the demo model answers them."""
