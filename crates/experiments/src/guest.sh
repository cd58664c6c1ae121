# One row of a table in the test machine: a hierarchy in the kernel engine, then the same threads in the fair class and,
# where one of them is to be a real-time thread, once more with that. Leaves $OUT/$NAME.{kernel,fair,fifo}.json.
#
# Relies on NAME, FILE and LENGTH, and on two names of threads that may be empty: WATCHED, whose CPU time the kernel is
# to write down, as it accounts it itself, in $OUT/$NAME.trace, and FIFO. Exits with 2 when a run fails; that a
# guarantee is broken is none of its business.
tracing=/sys/kernel/tracing
runtime=$tracing/events/sched/sched_stat_runtime

if [ "$WATCHED" ]; then
	echo 16384 >$tracing/buffer_size_kb
	echo mono >$tracing/trace_clock
	echo "comm == \"$WATCHED\"" >$runtime/filter
	echo 1 >$runtime/enable
fi
hls run "$FILE" --engine kernel --for "$LENGTH" --json >"$OUT/$NAME.kernel.json"
[ $? -le 1 ] || exit 2
if [ "$WATCHED" ]; then
	echo 0 >$runtime/enable
	cp $tracing/trace "$OUT/$NAME.trace"
fi

hls baseline "$FILE" --for "$LENGTH" --json >"$OUT/$NAME.fair.json" || exit 2

[ "$FIFO" ] || exit 0
hls baseline "$FILE" --for "$LENGTH" --json >"$OUT/$NAME.fifo.json" &
load=$!
# Before the run begins, while its threads are still being made, this shell has to find the one: it comes first, but not
# always, or nobody would make them.
chrt --fifo --pid 60 $$
until found=$(grep -lx "$FIFO" "/proc/$(tr -d ' ' <"/proc/$load/task/$load/children")/task/"*/comm); do
	kill -0 $load || exit 2
	sleep 0.005
done 2>/dev/null
chrt --fifo --pid 50 "$(echo "$found" | cut -d/ -f5)"
wait $load || exit 2
