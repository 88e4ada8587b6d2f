#!/bin/sh
# PostCompact: after a compaction, stores its summary.
# For manual setup instead of `ragmem connect` (docs/assistants.md). It always exits 0, and prints nothing if
# ragmem is missing or takes too long. $1 is the assistant, claude-code by default.
command -v ragmem >/dev/null 2>&1 || exit 0
set -- hook PostCompact --for "${1:-claude-code}"
if command -v timeout >/dev/null 2>&1; then
  timeout -k 1 2 ragmem "$@" 2>/dev/null
else
  ragmem "$@" 2>/dev/null # it has its own deadline
fi
exit 0
