# Loads and unloads policies beside a reservation, in the test machine. Each row has three runs: one in which a policy
# is unloaded and loaded again and again, by engines that are made before the run and kept; one as long without that;
# and one in which builds of the policy replace each other, for each of which an engine is made. Leaves the reports in
# $OUT/ROW.{cycles,alone,builds}.json, and the times of each change in $OUT/ROW.{load,unload,builds}.
#
# Relies on run_hls.sh, on ROWS, the names of hierarchy files, on CYCLES and BUILDS, and on that many builds of the policy in the cache
# of hls: the guest has no compiler.
set -u
policy=/usr/versions/1/asked_times.c

# change FILE COMMAND...: has hls load or unload a policy, and adds the line of its times to $OUT/FILE.
change() {
	file=$1
	shift
	hls "$@" >/tmp/change 2>/tmp/errors || fail "hls $*"
	tail -n 1 /tmp/change >>"$OUT/$file"
}

for row in $ROWS; do
	{
		echo "load \"$policy\""
		cat "/usr/load-unload/$row.kdl"
	} >/tmp/loaded.kdl
	begin /tmp/loaded.kdl --json >"$OUT/$row.cycles.json"
	for _ in $(seq "$CYCLES"); do
		change "$row.unload" unload asked-times
		change "$row.load" load "$policy"
	done
	kill -INT $hls
	await_end "$row.cycles"

	length=$(sed -n 's/.*"length_ns": \([0-9]*\).*/\1/p' "$OUT/$row.cycles.json")
	hls run "/usr/load-unload/$row.kdl" --engine kernel --for "${length}ns" --json \
		>"$OUT/$row.alone.json" 2>/tmp/hls &
	hls=$!
	await_end "$row.alone"

	begin "/usr/load-unload/$row.kdl" --json >"$OUT/$row.builds.json"
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
