# Policies come and go beside a reservation, in the test machine. For each row three runs: one where a policy comes and
# goes again and again, whose engine is made before anybody runs and kept since; the same row alone, for as long; one
# where builds of the policy follow each other, for each of which an engine is made. Leaves what came of them in
# $OUT/ROW.{cycles,alone,builds}.json, and what each change said of its time in $OUT/ROW.{load,unload,builds}.
#
# Relies on ROWS, the names of hierarchy files, on CYCLES, on BUILDS, and on these builds of the policy in the cache:
# there is no compiler here.
set -u
policy=/usr/versions/1/asked_times.c

fail() {
	echo "$*: $(cat /tmp/said)"
	exit 2
}

# begin FILE RUN: the hierarchy schedules this machine from here on.
begin() {
	hls run "$1" --engine kernel --json >"$OUT/$2.json" 2>/tmp/said &
	hls=$!
	until hls ctl status >/dev/null 2>&1; do
		kill -0 $hls || fail "$2"
		sleep 0.1
	done
}

# change FILE WHAT...: a load or an unload, whose times are a line of that file.
change() {
	file=$1
	shift
	hls "$@" >/tmp/change 2>/tmp/said || fail "hls $*"
	tail -n 1 /tmp/change >>"$OUT/$file"
}

# ended RUN: it did; that promises were broken is told in its results.
ended() {
	wait "$hls"
	[ $? -le 1 ] || fail "$1"
}

for row in $ROWS; do
	{
		echo "load \"$policy\""
		cat "/usr/load-unload/$row.kdl"
	} >/tmp/loaded.kdl
	begin /tmp/loaded.kdl "$row.cycles"
	for _ in $(seq "$CYCLES"); do
		change "$row.unload" unload asked-times
		change "$row.load" load "$policy"
	done
	kill -INT $hls
	ended "$row.cycles"

	length=$(sed -n 's/.*"length_ns": \([0-9]*\).*/\1/p' "$OUT/$row.cycles.json")
	hls run "/usr/load-unload/$row.kdl" --engine kernel --for "${length}ns" --json >"$OUT/$row.alone.json" 2>/tmp/said &
	hls=$!
	ended "$row.alone"

	begin "/usr/load-unload/$row.kdl" "$row.builds"
	replace=
	for build in $(seq "$BUILDS"); do
		change "$row.builds" load "/usr/versions/$build/asked_times.c" $replace
		replace=--replace
	done
	# The engines that were given up last are freed meanwhile.
	sleep 5
	kill -INT $hls
	ended "$row.builds"
done
