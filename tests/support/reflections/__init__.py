"""A loop for prompts: the small tasks played by a real model, and what it writes about its failures side by side.

    python -m tests.support.reflections play runs/retry --strategy retry --server http://127.0.0.1:8080/v1
    python -m tests.support.reflections play runs/reflexion --strategy reflexion --server http://127.0.0.1:8080/v1
    python -m tests.support.reflections keep --server http://127.0.0.1:8080/v1 -- langgraph-reflexion experiment \
        docs/experiments/humaneval_retries.toml --base-url ADDRESS
    python -m tests.support.reflections show runs/retry runs/reflexion
    python -m tests.support.reflections count runs/retry runs/reflexion
    python -m tests.support.reflections sheet runs/reflexion runs/other --out marks.csv --key key.json
    python -m tests.support.reflections shares key.json first-reader.csv second-reader.csv

Replies are kept by prompt and number of occurrence in `--cache`, so that all strategies begin with the same first
attempts, and a repeated run is free.
"""
