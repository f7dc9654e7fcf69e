
# Every script verifies its resources, so that one run reports all that are not ready.
if [ -n "$verify_only" ]; then
  failed=0
  for script in "${scripts[@]}"; do
    "$here/$script.sh" "$@" || failed=1
  done
  exit "$failed"
fi

# Every script checks for blocking differences before the first one changes anything.
if [ -z "$dry_run" ]; then
  for script in "${scripts[@]}"; do
    "$here/$script.sh" --check "$@"
  done
fi
[ -z "$check_only" ] || exit 0
failed=0
for script in "${scripts[@]}"; do
  say "== $script"
  status=0
  "$here/$script.sh" "$@" || status=$?
  # A script that exits with 3 completed everything except resources that no script creates.
  case $status in
    0) ;;
    3) [ "$failed" -ne 0 ] || failed=3 ;;
    *)
      [ -n "$dry_run" ] || exit "$status"
      failed=1
      ;;
  esac
done
exit "$failed"
