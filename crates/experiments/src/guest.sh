# Runs a hierarchy of a table in the test machine: under the kernel engine, then its threads in the fair class and, if
# FIFO names a thread, once more with that thread under SCHED_FIFO. Leaves $OUT/$NAME.{kernel,fair,fifo}.json. Where
# MACHINE is a hierarchy, the kernel engine runs that one, and the threads of FILE are plain threads below it.
#
# Relies on NAME, FILE and LENGTH, and on the names of two threads, either of which may be empty: WATCHED and FIFO. The
# kernel traces the CPU time of WATCHED, as it accounts for it itself, in $OUT/$NAME.trace. Exits with 2 when a run
# fails, but not when a guarantee is broken.
tracing=/sys/kernel/tracing
runtime=$tracing/events/sched/sched_stat_runtime

# plain WAY: runs the threads of FILE as plain threads, each called `nice N` at that nice value.
plain() {
	hls baseline "$FILE" --for "$LENGTH" --json >"$OUT/$NAME.$1.json" &
	baseline=$!
	grep -q '"nice ' "$FILE" && renice_threads
	wait $baseline || exit 2
}

# Such threads sleep for the first second, so that all of them are there before one computes.
renice_threads() {
	sleep 0.5
	found=$(grep -H '^nice ' "/proc/$(tr -d ' ' <"/proc/$baseline/task/$baseline/children")/task/"*/comm) || exit 2
	echo "$found" | while IFS=/ read -r _ _ _ _ thread name; do
		renice -n "${name#comm:nice }" -p "$thread" || exit 2
	done || exit 2
}

# Has the hierarchy MACHINE schedule all threads, and runs the threads of FILE.
under_machine() {
	hls run "$MACHINE" --engine kernel >"$OUT/$NAME.run" &
	run=$!
	until [ "$(cat /sys/kernel/sched_ext/state)" = enabled ]; do
		kill -0 $run || exit 2
		sleep 0.1
	done
	plain kernel
	kill -INT $run
	wait $run
}

if [ "$WATCHED" ]; then
	echo 16384 >$tracing/buffer_size_kb
	echo mono >$tracing/trace_clock
	echo "comm == \"$WATCHED\"" >$runtime/filter
	echo 1 >$runtime/enable
fi
if [ "$MACHINE" ]; then
	under_machine
else
	hls run "$FILE" --engine kernel --for "$LENGTH" --json >"$OUT/$NAME.kernel.json"
fi
[ $? -le 1 ] || exit 2
if [ "$WATCHED" ]; then
	echo 0 >$runtime/enable
	cp $tracing/trace "$OUT/$NAME.trace"
fi

plain fair

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
