#!/bin/sh
# The kernel's own tests of sched_ext, before the engine was ever attached and after it was attached and detached: each
# must end as before. Relies on `runner`, which is built from the kernel's source.
. /usr/kernel/lib.sh

# verdicts FILE: prints whether each test passed, a line each, and writes all output to the file.
verdicts() {
	runner >"$OUT/$1" 2>&1
	sed -n 's/^\(ok\|not ok\) [0-9]* /\1 /p' "$OUT/$1" | sort
}

verdicts before >/tmp/before
grep -q '^ok' /tmp/before || fail "no test passes before: $(cat "$OUT/before")"
for _ in $(seq "$CYCLES"); do
	hls run /usr/kernel/half.kdl --engine kernel --for 100ms >/dev/null 2>/tmp/said
	status=$?
	[ "$status" -le 1 ] || fail "hls exited with $status"
done
verdicts after >/tmp/after
lost=$(sort /tmp/before /tmp/after | uniq -u)
[ -z "$lost" ] || fail "before and after differ: $lost"
cat /tmp/after
