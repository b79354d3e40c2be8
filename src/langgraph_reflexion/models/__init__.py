"""Chat models: made by name, and called with retries, accounts and a cache."""
