# Measures Vassal's two tables in the test machine: first without hls, then under hls with no policy loaded, then with
# `asked-times` loaded. Prints lines `switch ROW LEAST MEDIAN AVERAGE` and `ticks ROW LEAST GREATEST AVERAGE DEVIATION`,
# in nanoseconds.
#
# Relies on run_hls.sh, on BATCHES, TICKS and HOGS, on the programs `pipe` and `metronome`, and on a build of the policy in the cache
# of hls: the guest has no compiler.
set -u

# measure TABLE ROW COMMAND...: prints a line of the table, with the times that the command prints.
measure() {
	line="$1 $2"
	shift 2
	times=$("$@" 2>/tmp/errors) || fail "$line"
	echo "$line $times"
}

# Waits until the kernel, or hls, is done with the work that follows its start.
settle() { sleep 5; }

# ticks ROW WAY [COMMAND...]: measures the ticks of metronome, run by the command if there is one, alone and beside
# hogs.
ticks() {
	row=$1 way=$2
	shift 2
	measure ticks "$row-alone" "$@" metronome "$way" 1000 "$TICKS"
	hogs=
	for _ in $(seq "$HOGS"); do
		while :; do :; done &
		hogs="$hogs $!"
	done
	measure ticks "$row-hogs" "$@" metronome "$way" 1000 "$TICKS"
	kill $hogs
	wait $hogs 2>/dev/null
}

real_time() { chrt --fifo 50 "$@"; }

# A fifth of the CPU, with precedence over all threads but those with an earlier deadline.
deadline() { chrt --deadline --sched-runtime 200000 --sched-deadline 1000000 --sched-period 1000000 0 "$@"; }

# Runs pipe, and moves its two threads below the scheduler `A` in the second for which they sleep first.
pipe_in_A() {
	pipe "$BATCHES" >/tmp/pipe &
	sleep 0.3
	for pid in $(pidof pipe); do
		hls ctl move "$pid" --to A >/dev/null || return 1
	done
	wait $! && cat /tmp/pipe
}

settle
measure switch none pipe "$BATCHES"
measure switch none-fifo pipe "$BATCHES" fifo
ticks fair-sleep sleep
ticks fair-timer timer
ticks fifo-sleep sleep real_time
ticks fifo-timer timer real_time
ticks deadline-sleep sleep deadline

begin /usr/vassal/vassal.kdl >/dev/null
settle
measure switch unused pipe "$BATCHES"
measure switch unused-fifo pipe "$BATCHES" fifo

hls load /usr/vassal/asked_times.c >/dev/null 2>/tmp/errors || fail "hls load"
hls ctl create asked-times A --below FP priority=1 >/dev/null 2>/tmp/errors || fail "hls ctl create"
settle
measure switch loaded pipe "$BATCHES"
measure switch loaded-fifo pipe "$BATCHES" fifo
measure switch inside pipe_in_A
ticks time-sharing-sleep sleep
ticks asked A
kill -INT $hls
# Broken promises are not measured here.
await_end "hls run"
