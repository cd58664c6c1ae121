#!/bin/sh
# A broken invariant ends the run with a dump that names the invariant, and sched_ext is disabled again.
. /usr/kernel/lib.sh

# ends_run WHAT: the program saboteur breaks this in the arena; the run must end with 3, and a hog get on.
ends_run() {
	start /usr/kernel/half.kdl
	hogs 1
	saboteur "$run" "$1" || fail "the saboteur failed"
	wait "$hls"
	status=$?
	[ "$status" = 3 ] || fail "hls exited with $status, expected 3"
	is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state)"
	hogs_get_on 1
	end_hogs
}

ends_run counts
grep -q "hls: invariant 4 is broken: .*(scheduler 1, " /tmp/said || fail "hls does not name the invariant"
grep -q "^scheduler 1, fixed-priority: 77 children, " /tmp/said || fail "hls does not show the scheduler"
grep -q "^CPU [01] is granted to VPs \[" /tmp/said || fail "hls does not show the CPUs"

# A lock that is never released ends the run as well.
ends_run lock
grep -q "the lock of the hierarchy cannot be had" /tmp/said || fail "hls does not say that it was the lock"
