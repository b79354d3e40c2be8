"""ALFWorld: household tasks in words, on a native engine or the original one."""
