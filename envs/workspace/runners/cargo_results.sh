# cargo runs each test program through this, which lists the program's tests on descriptor 3 first.
# With LANGGRAPH_REFLEXION_LIST it runs none of them.
case $1 in
*/deps/*)
    # Programs with `harness = false` know no --list.
    if grep -q RUST_TEST_THREADS "$1"; then
        {
            "$@" --list 2>/dev/null </dev/null 3>&-
            "$@" --list --ignored 2>/dev/null </dev/null 3>&- | sed -n 's/: test$/: ignored/p'
        } >&3
    fi
    ;;
esac
[ -n "$LANGGRAPH_REFLEXION_LIST" ] || exec "$@" 3>&-
