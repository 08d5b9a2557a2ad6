"""Fails where a test was skipped: a browser test or a real-model test that did not run proves nothing."""

import sys
import xml.etree.ElementTree as ElementTree

suites = ElementTree.parse(sys.argv[1]).getroot().iter("testsuite")
cases = [case for suite in suites for case in suite.iter("testcase")]
skipped = [f"{c.get('classname')}::{c.get('name')}" for c in cases if c.find("skipped") is not None]
tiers = {tier: sum(f"tests.{tier}" in (c.get("classname") or "") for c in cases) for tier in ("unit", "http", "ui", "real")}
print("tests by tier:", tiers)
if skipped or not all(tiers.values()):
    sys.exit("skipped, or a tier without tests: " + ", ".join(skipped))
