"""The helper process that starts and watches what runs in a sandbox. It imports the standard library only."""
