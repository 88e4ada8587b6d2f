#!/bin/sh
# Calls ragmem. If it is not installed, a session starts with one line that says so.

# An assistant started from the desktop may not have the PATH of a shell.
PATH="$PATH:$HOME/.local/bin:/usr/local/bin:/opt/homebrew/bin"

if [ "$1" != hook ]; then
    command -v ragmem >/dev/null && exec ragmem "$@"
    echo 'ragmem: the program is not installed, so there is no memory; install it: uv tool install ragmem' >&2
    exit 1
fi

# A hook of ragmem exits with 0. Any other code means that the program is missing or cannot start.
ragmem "$@" 2>/dev/null && exit 0
if [ "$2" = SessionStart ]; then
    printf '%s\n' '{"systemMessage": "ragmem: the program is not installed, so there is no memory; install it: uv tool install ragmem"}'
fi
exit 0
