#!/bin/sh
# SessionStart: tells a session what it should know when it begins.
# Wire it yourself where `ragmem connect` is not to your liking (docs/assistants.md). It always exits 0, and says
# nothing where ragmem is missing or takes too long. $1 names the assistant: claude-code, unless you say another.
command -v ragmem >/dev/null 2>&1 || exit 0
set -- hook SessionStart --for "${1:-claude-code}"
if command -v timeout >/dev/null 2>&1; then
  timeout -k 1 5 ragmem "$@" 2>/dev/null
else
  ragmem "$@" 2>/dev/null # it keeps a deadline by itself
fi
exit 0
