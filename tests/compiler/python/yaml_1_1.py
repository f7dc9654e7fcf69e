"""Reads YAML texts with PyYAML, which follows YAML 1.1. In: a list of texts. Out: the value of each, as JSON."""

import json
import sys

import yaml

json.dump([yaml.safe_load(text) for text in json.load(sys.stdin)], sys.stdout)
