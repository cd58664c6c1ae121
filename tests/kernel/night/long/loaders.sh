#!/bin/sh
# The processes of a load are killed, at every step: the client, the process that has the engine verified (the worker),
# and hls run. No thread is lost, nothing is left behind in the kernel, and the next load works. Also two loads at once,
# and unloading a policy that is used.
# Engine: asked_times.c names_none.c
. /usr/kernel/lib.sh
. /usr/kernel/policies.sh

asked=/usr/policies/asked_times.c

# begins_load: starts hls load, `load`, and waits for its worker, `worker`.
begins_load() {
	anew $asked
	hls load "$copy" >/tmp/loaded 2>/tmp/said2 &
	load=$!
	within 100 preparing >/tmp/worker || fail "no process prepares an engine: $(cat /tmp/said2)"
	worker=$(cat /tmp/worker)
}

# has_come_to NUMBER: whether the worker has loaded NUMBER programs, or has ended.
has_come_to() { [ "$(has_loaded "$worker")" -ge "$1" ] || gone "$worker"; }

# goes_on WHEN: all must go on as if nobody had loaded anything.
goes_on() {
	within 600 nobody_prepares || fail "$1: a process still prepares an engine"
	nothing_is_left "$before" "$1"
	hogs_get_on 1
	keeps "$reserved" "$1"
	runs "$1"
	echo "$1"
}

nothing=$(in_kernel)
start /usr/kernel/ctl.kdl --slack $slack
answers
reserve_some 2
give_up_one $asked

# The worker is killed after each number of loaded programs in STEPS.
for step in $STEPS; do
	begins_load
	within 600 has_come_to "$step" || fail "it does not come to program $step"
	kill -9 "$worker" 2>/dev/null
	wait $load && does hls unload asked-times
	goes_on "killed at program $step"
done

# The worker is killed when it has finished and the run, which is stopped for a moment, has not taken the engine yet.
# The run is stopped late: after 10 s the kernel takes its threads back.
last=$(echo $STEPS | sed 's/.* //')
begins_load
within 600 has_come_to "$last" || fail "it does not come to program $last"
kill -STOP "$run"
within 600 sh -c "grep -q '^State:.*sleeping' /proc/$worker/status && grep -q pipe_read /proc/$worker/wchan" || fail "it does not end"
kill -9 "$worker"
within 100 grep -q '^State:.Z' "/proc/$worker/status" || fail "it does not end"
kill -CONT "$run"
wait $load && fail "loaded by nobody"
goes_on "killed when all was done"

# The client is killed. A request that has arrived is carried out.
for step in $STEPS; do
	begins_load
	within 600 has_come_to "$step" || fail "it does not come to program $step"
	kill -9 $load 2>/dev/null
	wait $load 2>/dev/null
	within 600 nobody_prepares || fail "the worker goes on without its client"
	hls unload asked-times >/tmp/granted 2>/tmp/said2
	goes_on "client killed at program $step"
done

# Two loads at once are carried out one after the other, or the second is refused with a reason.
begins_load
hls load /usr/policies/names_none.c >/tmp/second 2>/tmp/said3
second=$?
wait $load || fail "the first of two: $(cat /tmp/said2)"
[ $second = 0 ] || [ -s /tmp/said3 ] || fail "the second of two is not told why"
[ $second != 0 ] || does hls unload names-none
does hls ctl create asked-times A --below RES guarantee="RESBH 40ms 200ms" slot=1ms

# Unloading a policy that threads use, which come and go: refused, or with --evacuate the threads are moved.
crowd A restless >/tmp/crowd 2>/tmp/crowd2 &
crowd=$!
within 300 test -s /tmp/crowd || fail "the crowd does not come together"
refuses "in use by .A." hls unload asked-times
does hls unload asked-times --evacuate
for tid in $(cat /tmp/crowd); do
	[ "$(of "$tid" scheduler)" = rest ] || fail "$tid is below $(of "$tid" scheduler)"
done
kill -9 $crowd
wait $crowd 2>/dev/null
goes_on "evacuation"

# hls run is killed: while a loaded policy is used, and while an engine is verified.
for moment in used $STEPS gone; do
	case $moment in
	used)
		does hls load $asked
		does hls ctl create asked-times A --below RES guarantee="RESBH 40ms 200ms" slot=1ms
		does hls ctl move "$(echo $hogs | cut -d" " -f1)" --to A
		;;
	gone) begins_load && within 900 gone "$worker" ;;
	*) begins_load && within 600 has_come_to "$moment" ;;
	esac || fail "it does not come to $moment"
	kill -9 "$hls"
	wait "$hls" 2>/dev/null
	within 100 is disabled || fail "killed at $moment: sched_ext is $(cat /sys/kernel/sched_ext/state)"
	within 600 nobody_prepares || fail "killed at $moment: a process still prepares an engine"
	nothing_is_left "$nothing" "killed at $moment"
	hogs_get_on 1
	start /usr/kernel/ctl.kdl --slack $slack
	answers
done
end_hogs
none_is_lost
stop
