"""Chat models: loaded by name, and called with retries, accounting and a cache."""
