#!/bin/sh
# Seed the example home, ask three questions, look inside. Usage: demo.sh FOLDER (made anew; nothing else is touched)
set -eu

example=$(cd "$(dirname "$0")" && pwd)/home
RAGMEM_HOME=${1:?usage: demo.sh FOLDER}
HOME=$example
export HOME RAGMEM_HOME
rm -rf "$RAGMEM_HOME"
cd "$example"

show() {
    printf '\n\033[1m$ ragmem'
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_./=-]*) printf ' "%s"' "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\033[0m\n'
    ragmem "$@"
}

show seed
show query "why did the deploy answer 502" --limit 2
show query "why was SQLite not enough" --limit 2
show query "why do phones show an old timetable" --limit 2
show inspect
show inspect entity PostgreSQL

printf '\nThe demo memory is in %s; your own fills with: ragmem seed\n' "$RAGMEM_HOME"
