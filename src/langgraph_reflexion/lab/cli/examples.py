"""Examples of each command, at the end of its help."""

EXAMPLES: dict[str, list[str]] = {
    "demo": ["langgraph-reflexion demo", "langgraph-reflexion demo --games 134 --out runs/all-games"],
    "doctor": ["langgraph-reflexion doctor", "langgraph-reflexion doctor --model openai:gpt-4o-mini"],
    "init": ["langgraph-reflexion init my-project", "langgraph-reflexion init my-world --kind environment"],
    "run": [
        "langgraph-reflexion run alfworld --limit 3",
        "langgraph-reflexion run hotpotqa --model openai:gpt-4o-mini --limit 20",
        "langgraph-reflexion run agent.py:agent --tasks tasks.jsonl --evaluator exact",
    ],
    "resume": [
        "langgraph-reflexion resume runs/first",
        "langgraph-reflexion resume runs/first --max-trials 5 --budget run.tokens=none",
    ],
    "experiment": [
        "langgraph-reflexion experiment matrix.toml --dry-run",
        "langgraph-reflexion experiment matrix.toml --out runs/matrix",
    ],
    "report": [
        "langgraph-reflexion report runs/first --open",
        "langgraph-reflexion report runs/retry runs/reflexion --html page.html",
        "langgraph-reflexion report runs/first --open --watch 5",
    ],
    "show": ["langgraph-reflexion show runs/first 1", "langgraph-reflexion show runs/first 1 --prompt 2:5"],
    "judge": [
        "langgraph-reflexion judge runs/first --evaluator checks.py:verify",
        "langgraph-reflexion judge runs/first --evaluator exact --tasks tasks.jsonl",
    ],
    "learn": ["langgraph-reflexion learn said.jsonl --lessons l.db --model openai:gpt-4o-mini"],
    "list": ["langgraph-reflexion list", "langgraph-reflexion list runs/matrix"],
    "play": ["langgraph-reflexion play alfworld --task 2"],
    "grade": ["langgraph-reflexion grade problems.jsonl solutions.jsonl"],
    "apply": ["langgraph-reflexion apply runs/fixes"],
}
"""What is shown for each command, by its name."""
