# Vassal's two tables in the test machine: first without hls, then under hls with nothing loaded, then with `asked-times`
# loaded. Prints lines `switch ROW LEAST MEDIAN AVERAGE` and `ticks ROW LEAST GREATEST AVERAGE DEVIATION`, in
# nanoseconds.
#
# Relies on BATCHES, TICKS and HOGS, on the programs `pipe` and `metronome`, and on a build of the policy in the cache:
# there is no compiler here.
set -u

fail() {
	echo "$*: $(cat /tmp/said)"
	exit 2
}

# says TABLE ROW COMMAND...: what the command prints, as a line.
says() {
	line="$1 $2"
	shift 2
	told=$("$@" 2>/tmp/said) || fail "$line"
	echo "$line $told"
}

# The kernel, or hls, still looks after what has just begun.
settle() { sleep 5; }

# ticks ROW WAY [COMMAND...]: alone, and beside hogs; the command is put before it.
ticks() {
	row=$1 way=$2
	shift 2
	says ticks "$row-alone" "$@" metronome "$way" 1000 "$TICKS"
	hogs=
	for _ in $(seq "$HOGS"); do
		while :; do :; done &
		hogs="$hogs $!"
	done
	says ticks "$row-hogs" "$@" metronome "$way" 1000 "$TICKS"
	kill $hogs
	wait $hogs 2>/dev/null
}

real_time() { chrt --fifo 50 "$@"; }

# A fifth of the CPU, before all but other deadlines.
deadline() { chrt --deadline --sched-runtime 200000 --sched-deadline 1000000 --sched-period 1000000 0 "$@"; }

# The two threads are moved below `A` while they rest.
pipe_in_A() {
	pipe "$BATCHES" >/tmp/pipe &
	sleep 0.3
	for pid in $(pidof pipe); do
		hls ctl move "$pid" --to A >/dev/null || return 1
	done
	wait $! && cat /tmp/pipe
}

settle
says switch none pipe "$BATCHES"
says switch none-fifo pipe "$BATCHES" fifo
ticks fair-sleep sleep
ticks fair-timer timer
ticks fifo-sleep sleep real_time
ticks fifo-timer timer real_time
ticks deadline-sleep sleep deadline

hls run /usr/vassal/vassal.kdl --engine kernel >/dev/null 2>/tmp/hls &
hls=$!
until hls ctl status >/dev/null 2>&1; do
	kill -0 $hls || { cp /tmp/hls /tmp/said; fail "hls run"; }
	sleep 0.1
done
settle
says switch unused pipe "$BATCHES"
says switch unused-fifo pipe "$BATCHES" fifo

hls load /usr/vassal/asked_times.c >/dev/null 2>/tmp/said || fail "hls load"
hls ctl create asked-times A --below FP priority=1 >/dev/null 2>/tmp/said || fail "hls ctl create"
settle
says switch loaded pipe "$BATCHES"
says switch loaded-fifo pipe "$BATCHES" fifo
says switch inside pipe_in_A
ticks time-sharing-sleep sleep
ticks asked A
kill -INT $hls
wait $hls
# That promises were broken is none of our business.
[ $? -le 1 ] || { cp /tmp/hls /tmp/said; fail "hls run"; }
