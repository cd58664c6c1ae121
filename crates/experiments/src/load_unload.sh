# Loads and unloads policies beside a reservation, in the test machine. Each row has three runs: one in which a policy
# is unloaded and loaded again and again, by engines that are made before the run and kept; one as long without that;
# and one in which builds of the policy replace each other, for each of which an engine is made. Leaves the reports in
# $OUT/ROW.{cycles,alone,builds}.json, and the times of each change in $OUT/ROW.{load,unload,builds}.
#
# Relies on ROWS, the names of hierarchy files, on CYCLES and BUILDS, and on that many builds of the policy in the cache
# of hls: the guest has no compiler.
set -u
policy=/usr/versions/1/asked_times.c

fail() {
	echo "$*: $(cat /tmp/errors)"
	exit 2
}

# begin FILE RUN: lets the hierarchy of FILE schedule this machine; its report goes to $OUT/RUN.json.
begin() {
	hls run "$1" --engine kernel --json >"$OUT/$2.json" 2>/tmp/errors &
	hls=$!
	until hls ctl status >/dev/null 2>&1; do
		kill -0 $hls || fail "$2"
		sleep 0.1
	done
}

# change FILE COMMAND...: has hls load or unload a policy, and adds the line of its times to $OUT/FILE.
change() {
	file=$1
	shift
	hls "$@" >/tmp/change 2>/tmp/errors || fail "hls $*"
	tail -n 1 /tmp/change >>"$OUT/$file"
}

# await_end RUN: waits for the end of the run, which may have broken promises: the report says so.
await_end() {
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
	await_end "$row.cycles"

	length=$(sed -n 's/.*"length_ns": \([0-9]*\).*/\1/p' "$OUT/$row.cycles.json")
	hls run "/usr/load-unload/$row.kdl" --engine kernel --for "${length}ns" --json \
		>"$OUT/$row.alone.json" 2>/tmp/errors &
	hls=$!
	await_end "$row.alone"

	begin "/usr/load-unload/$row.kdl" "$row.builds"
	replace=
	for build in $(seq "$BUILDS"); do
		change "$row.builds" load "/usr/versions/$build/asked_times.c" $replace
		replace=--replace
	done
	# Meanwhile the kernel frees the engines that were replaced.
	sleep 5
	kill -INT $hls
	await_end "$row.builds"
done
