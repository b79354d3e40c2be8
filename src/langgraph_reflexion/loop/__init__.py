"""What the nodes share: prompts that fit, context, conversation, budgets, profiles, events, tracing."""
