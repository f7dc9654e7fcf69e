#!/usr/bin/env bash
# Computes a cache key from the contents of gpuc's source, so that each version is built once.
set -euo pipefail
# shellcheck source=integrations/github/lib.sh
. "$GITHUB_ACTION_PATH/integrations/github/lib.sh"

sum() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }

cd "$GITHUB_ACTION_PATH"
contents=$(
  find Cargo.toml Cargo.lock compiler schema -type f -print | LC_ALL=C sort | while IFS= read -r file; do
    printf '%s %s\n' "$file" "$(sum <"$file")"
  done | sum
)
output key "gpuc-$IMAGE-${ImageOS:-self-hosted}-${contents%% *}"
output folder "$work/built"
