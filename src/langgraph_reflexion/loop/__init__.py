"""What the nodes of the loop share: prompts that fit, context, conversation, budgets, events, profiles."""
