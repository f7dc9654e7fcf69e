#!/usr/bin/env bash
# Names what gpuc is built from by its contents, so that it is built once for each version.
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
