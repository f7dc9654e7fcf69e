
# Every script checks for blocking differences before the first one changes anything.
if [ -z "$dry_run" ]; then
  for script in "${scripts[@]}"; do
    "$here/$script.sh" --check "$@"
  done
fi
[ -z "$check_only" ] || exit 0
failed=
for script in "${scripts[@]}"; do
  say "== $script"
  if [ -n "$dry_run" ]; then
    "$here/$script.sh" "$@" || failed=yes
  else
    "$here/$script.sh" "$@"
  fi
done
[ -z "$failed" ]
