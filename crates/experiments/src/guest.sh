# Runs a hierarchy of a table in the test machine: under the kernel engine, then its threads in the fair class and, if
# FIFO names a thread, once more with that thread under SCHED_FIFO. Leaves $OUT/$NAME.{kernel,fair,fifo}.json.
#
# Relies on NAME, FILE and LENGTH, and on the names of two threads, either of which may be empty: WATCHED, whose CPU
# time the kernel traces, as it accounts for it itself, in $OUT/$NAME.trace; and FIFO. Exits with 2 when a run fails,
# but not when a guarantee is broken.
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
baseline=$!
# This shell must find the thread while hls still creates the threads, before the run begins. So the shell runs before
# all others, under SCHED_FIFO, but sleeps in between, or hls would have no CPU to create them.
chrt --fifo --pid 60 $$
until found=$(grep -lx "$FIFO" "/proc/$(tr -d ' ' <"/proc/$baseline/task/$baseline/children")/task/"*/comm); do
	kill -0 $baseline || exit 2
	sleep 0.005
done 2>/dev/null
chrt --fifo --pid 50 "$(echo "$found" | cut -d/ -f5)"
wait $baseline || exit 2
