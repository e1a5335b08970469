#!/bin/sh
# Print the path of a Python that can run this project, or say what to install and exit with 2.
# Uses shell built-ins only, so that it works with any PATH. A version the project is tested with wins over a newer one.
#   PYTHON                    a Python to take if it is new enough (a path, or a name on the PATH)
#   FIND_PYTHON_SYSTEM_DIRS   folders to look in after the PATH, separated by colons
set -u

system_dirs=${FIND_PYTHON_SYSTEM_DIRS-/usr/local/bin:/opt/homebrew/bin:/opt/local/bin:/usr/bin}
home=${HOME:-/nonexistent}
unfit=
best=
best_rank=99

# Runs candidate $1: sets `version` and `real` (its own path, not that of a shim in front of it), or fails.
probe() {
    [ -x "$1" ] && [ ! -d "$1" ] || return 1
    answer=$("$1" -I -c 'import sys; print("%d.%d %s" % (sys.version_info[0], sys.version_info[1], sys.executable))' \
        2>/dev/null </dev/null) || { reject "$1" "does not run"; return 1; }
    version=${answer%% *}
    real=${answer#* }
    case $version in
        3.1[2-9] | 3.[2-9][0-9] | [4-9].*) ;;
        *) reject "$1" "is Python ${version:-of an unknown version}"; return 1 ;;
    esac
    "$1" -I -c 'import ensurepip, sqlite3, ssl, venv' 2>/dev/null </dev/null ||
        { reject "$1" "is Python $version without one of venv, ensurepip, ssl, sqlite3"; return 1; }
    [ -x "$real" ] || real=$1
}

reject() {
    unfit="$unfit
    $1 $2"
}

consider() {
    [ "$best_rank" -gt 1 ] || return 0
    probe "$1" || return 0
    case $version in
        3.12) rank=1 ;;
        3.13) rank=2 ;;
        *) rank=3 ;;
    esac
    if [ "$rank" -lt "$best_rank" ]; then
        best=$real best_rank=$rank best_version=$version
    fi
}

# Every python of the folders in $1, one per name: a shim that fails must not hide a working one further on.
consider_folders() {
    old_ifs=$IFS
    IFS=:
    for dir in $1; do
        for name in python3.12 python3.13 python3.14 python3; do
            consider "${dir:-.}/$name"
        done
    done
    IFS=$old_ifs
}

if [ -n "${PYTHON:-}" ]; then
    named=$(command -v "$PYTHON") || named=$PYTHON
    if probe "$named"; then
        printf '%s\n' "$real"
        exit 0
    fi
    echo "find_python: PYTHON=$PYTHON is not a usable Python 3.12 or newer; looking elsewhere." >&2
fi

consider_folders "${PATH:-}"
for python in "${PYENV_ROOT:-$home/.pyenv}"/versions/3.1[2-4]*/bin/python \
    "${XDG_DATA_HOME:-$home/.local/share}"/uv/python/*/bin/python3; do
    consider "$python"
done
consider_folders "$system_dirs"

if [ -n "$best" ]; then
    [ "$best_rank" -lt 3 ] ||
        echo "find_python: taking Python $best_version; the project is tested with 3.12 and 3.13." >&2
    printf '%s\n' "$best"
    exit 0
fi

explain() {
    echo "ContextRender needs Python 3.12 or 3.13, with venv, and none was found."
    echo "Looked at: \$PYTHON, the PATH, pyenv's and uv's folders, $system_dirs"
    [ -z "$unfit" ] || echo "Found, but not usable:$unfit"
    echo "Install one of them:"
    echo "    Debian, Ubuntu   sudo apt install python3.12 python3.12-venv"
    echo "    Fedora           sudo dnf install python3.12"
    echo "    macOS            brew install python@3.12"
    echo "    anywhere         pyenv install 3.12   or   uv python install 3.12"
    echo "or name the one you have: make PYTHON=/path/to/python3.12 test"
}
explain >&2
exit 2
