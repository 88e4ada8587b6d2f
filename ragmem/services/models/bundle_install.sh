#!/bin/sh
# Install ragmem from this folder, without any network: sh install.sh [--venv DIR] [--python PYTHON]
#
# Checks every file, makes a virtual environment, puts models and configuration where this user's ragmem
# looks for them (what is there already stays as it is), and runs `ragmem --offline doctor`.
set -eu
umask 077

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
venv=${HOME:?}/.local/share/ragmem-venv
python=

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 3
}

while [ $# -gt 0 ]; do
    case $1 in
        --venv) [ $# -gt 1 ] || fail "--venv needs a folder"; venv=$2; shift 2 ;;
        --python) [ $# -gt 1 ] || fail "--python needs a program"; python=$2; shift 2 ;;
        -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "unknown option $1; sh install.sh --help" ;;
    esac
done

# Named from where this was started; a program may also be one of the PATH.
case $venv in /*) ;; *) venv=$(pwd)/$venv ;; esac
case $python in /* | "") ;; */*) python=$(pwd)/$python ;; esac

cd "$here"
if command -v sha256sum >/dev/null 2>&1; then
    sha256sum --quiet -c SHA256SUMS || fail "the bundle is damaged; copy it again"
elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 -s -c SHA256SUMS || fail "the bundle is damaged; copy it again"
else
    fail "neither sha256sum nor shasum is here to check the bundle"
fi

if [ -d wheels ]; then
    wanted=$(cat python-version)
    if [ -z "$python" ]; then
        python=$(command -v "python$wanted" || command -v python3) || fail "there is no Python; use --python"
    fi
    found=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "$python does not run"
    [ "$found" = "$wanted" ] || fail "the wheels are for Python $wanted, $python is $found; use --python"
    "$python" -m venv "$venv" || fail "cannot make $venv (Debian has venv in python3-venv)"
    "$venv/bin/python" -m pip --quiet --disable-pip-version-check install --no-index \
        --find-links "$here/wheels" --requirement "$here/requirements.txt" || fail "pip could not install"
    ragmem=$venv/bin/ragmem
    python=$venv/bin/python
else
    ragmem=$(command -v ragmem) || fail "the bundle has no wheels, and ragmem is not installed"
    python=${python:-$(sed -n '1s/^#!//p' "$ragmem")}
fi

place() {
    "$python" -c 'import os, sys
from pathlib import Path
from ragmem.config.places import find_places
print(getattr(find_places(os.environ, home=Path.home(), cwd=Path.cwd()), sys.argv[1]))' "$1"
}

# Nothing is put under its name before it is whole.
if [ -d models ]; then
    target=$(place data)/models
    mkdir -p "$target"
    for model in models/*/; do
        name=$(basename "$model")
        if [ -e "$target/$name" ]; then
            printf 'kept the model that is there: %s\n' "$target/$name"
        else
            rm -rf "$target/.bundle-$name"
            cp -R "models/$name" "$target/.bundle-$name"
            mv "$target/.bundle-$name" "$target/$name"
        fi
    done
fi
if [ -d config ]; then
    target=$(place config)
    mkdir -p "$target"
    for file in config/*; do
        name=$(basename "$file")
        if [ -e "$target/$name" ]; then
            printf 'kept the configuration that is there: %s\n' "$target/$name"
        else
            cp "$file" "$target/.bundle-$name"
            mv "$target/.bundle-$name" "$target/$name"
        fi
    done
fi

printf 'ragmem is %s\n' "$ragmem"
exec "$ragmem" --offline doctor
