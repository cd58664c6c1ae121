#!/bin/sh
# How long the lock of the hierarchy is held at most while a herd of threads wakes up now and then, or computes, bound to
# one CPU or not, and two other threads wake each other up all the time. Prints a line for each: how many threads there
# are, what they do, and the longest hold of those that were timed. $HERDS says how many threads; $MOST_NS is the
# greatest hold that is no failure. Time is exact, so one CPU runs; the other one is part of the hierarchy, but
# offline: so a thread that is bound to the first CPU cannot use every CPU.
. /usr/kernel/lib.sh

# Starts the run without checks of the invariants: a check walks over everything, under the lock.
start_unchecked() {
	is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state) before the start"
	hls run --engine kernel "$1" >/tmp/report 2>/tmp/said &
	hls=$!
	within 3000 attached_or_gone && is enabled || fail "the hierarchy was not attached"
	echo "<4>hls-vm: runs" >/dev/kmsg
}

longest_hold() { hls ctl status --json | sed -n 's/.*"longest_hold_ns": \([0-9]*\).*/\1/p'; }

# measure COUNT KIND [bound]
measure() {
	start_unchecked /usr/kernel/any.kdl
	answers
	echo 0 >/sys/devices/system/cpu/cpu1/online
	herd "$@" >/tmp/herd &
	herd=$!
	within 6000 grep -q ready /tmp/herd || fail "herd $*: not ready"
	sleep 4
	hold=$(longest_hold)
	echo "$1 $2 ${3:-unbound}: $hold ns"
	[ "$hold" -le "$MOST_NS" ] || failed=1
	kill -9 $herd
	wait $herd 2>/dev/null
	runs "herd $*"
	echo "<4>hls-vm: stops" >/dev/kmsg
	kill -INT "$hls"
	wait "$hls"
	echo 1 >/sys/devices/system/cpu/cpu1/online
}

failed=0
echo 200000 >/proc/sys/kernel/pid_max
echo 200000 >/proc/sys/kernel/threads-max
for count in $HERDS; do
	for bound in '' bound; do
		for kind in idle waking; do
			measure "$count" $kind $bound
		done
	done
done
exit $failed
