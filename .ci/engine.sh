#!/usr/bin/env bash
# The pipeline's unit and http tiers on the newest evaluation set, without gradio.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-engine
[ -x $venv/bin/python ] || python3 -m venv $venv
$venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-engine.txt -r requirements-engine-dev.txt
$venv/bin/python -c "import importlib.util as u; assert u.find_spec('gradio') is None, 'gradio is in the engine set'"
# Left out: a text that no reader of ours lets in, which the newest inspect cannot write into its log.
$venv/bin/python -m pytest -n 2 --dist loadfile -m "not browser" $(cat .ci/engine-tests) \
  --deselect tests/http/test_before_the_first_call.py::test_one_text_that_cannot_be_sent_loses_its_own_task_alone
