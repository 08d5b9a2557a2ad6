#!/usr/bin/env bash
# Records that this project exports must pass the public validator of Every Eval Ever. It needs Python 3.12 or newer and
# packages of its own, so it gets an environment of its own (.venv-eee). Fails where no such Python is found.
set -euo pipefail
cd "$(dirname "$0")/.."
want="every-eval-ever==0.3.0"
venv=.venv-eee

find_python() {
  local try roots=("${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[23]*/bin/python)
  for try in "${EEE_PYTHON:-}" python3.13 python3.12 "${roots[@]}" python3; do
    if [ -n "$try" ] && "$try" -c 'import sys; sys.exit(not (3, 12) <= sys.version_info < (3, 14))' 2>/dev/null; then
      echo "$try"
      return
    fi
  done
  echo "eee: no Python 3.12 or 3.13 was found; install one, or name it in EEE_PYTHON" >&2
  return 1
}

if ! "$venv/bin/python" -c "import importlib.metadata as m, sys; sys.exit(m.version('every-eval-ever') != '${want#*==}')" 2>/dev/null; then
  python=$(find_python)
  echo "eee: making $venv with $("$python" --version), installing $want"
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$want"
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
echo "eee: exporting records of made runs"
"${APP_PYTHON:-.venv/bin/python}" -m tests.unit.export.records "$out"
cd "$out"
echo "eee: validating $(find data -name '*.json' | wc -l) records"
"$OLDPWD/$venv/bin/every_eval_ever" validate 'data/*/*/*/*.json' --format github || {
  code=$?
  echo "eee: the validator refused a record (exit $code; 2 means warnings, which block a submission too)" >&2
  exit "$code"
}
echo "eee: all records pass $want"
