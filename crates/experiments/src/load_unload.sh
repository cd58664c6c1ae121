# Policies come and go beside a reservation, in the laboratory; then the same reservation alone, for as long. Leaves
# $OUT/ROW.{busy,alone}.json, and what each load and unload said of its time in $OUT/ROW.{load,unload}.
#
# Relies on ROWS, the names of hierarchy files, on CYCLES, and on a build of the policy in the cache: there is no
# compiler here.
set -u

fail() {
	echo "$*: $(cat /tmp/said)"
	exit 2
}

# ended FILE: the run did; that promises were broken is told there.
ended() {
	wait "$hls"
	[ $? -le 1 ] || fail "$1"
}

for row in $ROWS; do
	hls run "/usr/load-unload/$row.kdl" --engine kernel --json >"$OUT/$row.busy.json" 2>/tmp/said &
	hls=$!
	until hls ctl status >/dev/null 2>&1; do
		kill -0 $hls || fail "$row"
		sleep 0.1
	done
	for _ in $(seq "$CYCLES"); do
		hls load /usr/load-unload-policies/asked_times.c >/tmp/load 2>/tmp/said || fail "hls load"
		tail -n 1 /tmp/load >>"$OUT/$row.load"
		hls unload asked-times >/tmp/load 2>/tmp/said || fail "hls unload"
		tail -n 1 /tmp/load >>"$OUT/$row.unload"
	done
	kill -INT $hls
	ended "$row"

	length=$(sed -n 's/.*"length_ns": \([0-9]*\).*/\1/p' "$OUT/$row.busy.json")
	hls run "/usr/load-unload/$row.kdl" --engine kernel --for "${length}ns" --json >"$OUT/$row.alone.json" 2>/tmp/said &
	hls=$!
	ended "$row alone"
done
