"""The world of the split `own`: pages of an invented country, and questions about them."""
