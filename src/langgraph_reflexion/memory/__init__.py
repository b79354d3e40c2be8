"""Lessons that outlive their task, in a LangGraph store: written, recalled, retired, edited, carried elsewhere."""
