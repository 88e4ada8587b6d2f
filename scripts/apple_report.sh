#!/bin/sh
# Tests ragmem on this Mac and writes one file, without private data, that helps to improve it on Apple Silicon.
#
# Usage: scripts/apple_report.sh [--out FILE] [--quick] [--only SECTION]... [--embedding HUB_ID] [--language HUB_ID]
#        [--environment VENV]
#
# It needs this repository, and uv or Python 3.11 or newer. It installs ragmem into a temporary environment,
# works in a temporary home, and removes both. It reads nothing of yours. Where no agent of ragmem is installed,
# one is started by launchd for some seconds. --embedding and --language fetch a model from the hub and try it.
# --environment takes an environment that has ragmem, with its tests' tools, in place of a new one.
# Exit code 1: a check failed; the file says which. 2: usage, or nothing to run it with.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ragmem-report.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

case " $* " in
  *" -h "* | *" --help "*)
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0"
    exit 0
    ;;
esac

environment=
seen=
for word in "$@"; do
  [ "$seen" = --environment ] && environment=$word
  seen=$word
done
[ "$seen" = --environment ] && { echo "apple_report.sh: --environment needs a folder" >&2; exit 2; }

if [ -z "$environment" ]; then
  environment=$work/venv
  echo "installing ragmem into a temporary environment (some minutes) ..." >&2
  if command -v uv >/dev/null 2>&1; then
    uv venv --quiet --python ">=3.11" "$environment"
    VIRTUAL_ENV=$environment uv pip install --quiet --editable "${root}[all]" --group "$root/pyproject.toml:dev"
  else
    python=
    for name in python3.11 python3.12 python3.13 python3.14 python3; do
      if command -v "$name" >/dev/null 2>&1 && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        python=$name
        break
      fi
    done
    [ -n "$python" ] || { echo "apple_report.sh: install uv, or Python 3.11 or newer, and run it again" >&2; exit 2; }
    "$python" -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet --upgrade "pip>=25.1"
    (cd "$root" && "$environment/bin/python" -m pip install --quiet --editable ".[all]" --group dev)
  fi
fi
[ -x "$environment/bin/python" ] || { echo "apple_report.sh: no Python in $environment" >&2; exit 2; }

# Not exec: the trap removes the temporary folder.
"$environment/bin/python" "$root/scripts/apple_report.py" --work "$work" "$@"
