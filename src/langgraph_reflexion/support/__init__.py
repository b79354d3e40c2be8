"""What every floor stands on: errors aside, small helpers that know nothing of agents."""
