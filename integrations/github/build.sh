#!/usr/bin/env bash
# Builds gpuc from the action's own source.
set -euo pipefail
cd "$GITHUB_ACTION_PATH"

if ! command -v cargo >/dev/null; then
  echo "::error::gpuc is built with cargo, which this runner does not have: install Rust, or set the input 'gpuc'"
  exit 1
fi
# The runner's own Rust may be older than gpuc requires.
cargo=(cargo)
if command -v rustup >/dev/null; then
  version=$(sed -n 's/^rust-version = "\([0-9.]*\)"$/\1/p' Cargo.toml)
  rustup toolchain install "$version" --profile minimal --no-self-update
  cargo=(cargo "+$version")
fi
CARGO_TARGET_DIR="$RUNNER_TEMP/gpuc-action/target" \
  "${cargo[@]}" install --locked --path compiler --root "$FOLDER" --no-track
