#!/bin/sh
# A shell script as an agent: it answers each message that it gets, and ends when it is told to stop.
#
#   sh examples/agent.sh worker &
#   ragmem agents signal message worker "count the notes"
#   ragmem agents signal stop worker
#
# It needs no server: `ragmem agents` and `ragmem serve` share operational.db. docs/api.md has the rest.
set -eu
me=${1:-worker}

answer() {
    # ID  SENDER  TYPE  TEXT; the further lines of a longer text are indented.
    while IFS= read -r line; do
        case $line in ' '*) continue ;; esac
        id=${line%%  *} rest=${line#*  }
        sender=${rest%%  *} rest=${rest#*  }
        if [ "${rest%%  *}" = message ] && [ "$sender" != - ]; then
            # A sender that never checked in cannot be told, which must not end this script.
            ragmem agents signal message "$sender" "done: ${rest#*  }" --from "$me" >/dev/null || true
        fi
        # Last, so that a script that is killed before is given it again.
        ragmem agents acknowledge "$me" "$id"
    done
}

ragmem agents heartbeat "$me" --status starting >/dev/null || true
while told=$(ragmem agents heartbeat "$me" --status idle) || [ "${told#stop:}" = "$told" ]; do
    # Ends at once when something comes. While it should pause, it reads on but does nothing else.
    { ragmem agents messages "$me" --wait 20 || true; } | answer
done
ragmem agents heartbeat "$me" --status stopped >/dev/null
