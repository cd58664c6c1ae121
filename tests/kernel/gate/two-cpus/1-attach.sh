#!/bin/sh
# Attach and detach, in every way in which a run may end; a second run, and one that is not root's, are refused.
. /usr/kernel/lib.sh
. /usr/kernel/policies.sh

enabled() { cat /sys/kernel/sched_ext/enable_seq; }

# The doctor finds what the tests rely on, and nothing in the way.
hls doctor --json >/tmp/report || fail "the doctor says that this kernel cannot run hierarchies"
grep -q "RCU is preemptible\|PREEMPT_RT" /tmp/report || fail "the doctor does not say how the kernel is preempted"

before=$(enabled)
start /usr/kernel/half.kdl
hogs 1
[ "$(cat /sys/kernel/sched_ext/root/ops)" = hls ] || fail "the scheduler is $(cat /sys/kernel/sched_ext/root/ops)"
hogs_get_on 1

# SysRq-D, which has the kernel dump the scheduler's state, changes nothing.
echo D >/proc/sysrq-trigger
hogs_get_on 1

# A second run is refused at once, and the first goes on.
hls run /usr/kernel/half.kdl --engine kernel >/dev/null 2>/tmp/said2 &
second=$!
within 30 has_ended "$second" || fail "a second hls loads an engine first"
wait "$second"
[ $? = 3 ] || fail "a second hls did not exit with 3"
grep -q "another scheduler" /tmp/said2 || fail "a second hls does not say why"
hogs_get_on 1
stop
[ "$(enabled)" = $((before + 1)) ] || fail "sched_ext was enabled $(enabled) times, expected one more than $before"
hogs_get_on 1
end_hogs

# A run of a user other than root is refused.
as_nobody 'hls run /usr/kernel/half.kdl --engine kernel' >/dev/null 2>/tmp/said2
[ $? = 3 ] || fail "an hls of nobody did not exit with 3"
grep -q "it takes root" /tmp/said2 || fail "an hls of nobody does not say why"

# has_come_to MOMENT: whether the run has loaded MOMENT programs, or the hierarchy is attached.
has_come_to() {
	is enabled && return
	[ "$1" = attached ] && return 1
	run=$(cut -d' ' -f1 "/proc/$hls/task/$hls/children") && [ "$(has_loaded "$run")" -ge "$1" ]
}

# When hls is killed, at any moment, sched_ext is disabled again.
for moment in $KILLS; do
	hls run /usr/kernel/half.kdl --engine kernel >/dev/null 2>/tmp/said &
	hls=$!
	within 3000 has_come_to "$moment" || fail "the run does not come to $moment"
	kill -9 "$hls"
	wait "$hls" 2>/dev/null
	within 50 is disabled || fail "killed at $moment: sched_ext is $(cat /sys/kernel/sched_ext/state)"
done

# A run that is asked to end while it begins ends when it has begun, with its report.
hls run /usr/kernel/half.kdl --engine kernel >/tmp/report 2>/tmp/said &
hls=$!
within 3000 has_come_to 1 || fail "the run loads nothing"
kill -INT "$hls"
wait "$hls"
status=$?
[ "$status" -le 1 ] || fail "asked to end while it began, hls exited with $status"
grep -q "^run: " /tmp/report || fail "a run that was asked to end while it began has no report"
is disabled || fail "asked to end while it began: sched_ext is $(cat /sys/kernel/sched_ext/state)"

# When the run is killed its keeper gives the machine back, and says so.
start /usr/kernel/half.kdl
hogs 3
kill -9 "$run"
wait "$hls"
[ $? = 3 ] || fail "after the run was killed hls did not exit with 3"
is disabled || fail "the run was killed: sched_ext is $(cat /sys/kernel/sched_ext/state)"
grep -q "signal 9 has ended the run" /tmp/said || fail "hls does not say that the run was killed"
hogs_get_on 1
end_hogs

# A run that does not end when it is asked to has its hierarchy detached by the keeper, and a second signal ends it.
start /usr/kernel/half.kdl
hogs 3
kill -STOP "$run"
kill -INT "$hls"
within 50 is disabled || fail "a run that is stopped: sched_ext is $(cat /sys/kernel/sched_ext/state)"
gone "$hls" && fail "the keeper of a run that is stopped has gone"
kill -INT "$hls"
wait "$hls"
[ $? = 3 ] || fail "after a second signal hls did not exit with 3"
within 10 gone "$run" || fail "after a second signal the run is still there"
hogs_get_on 1
end_hogs

# goes_back WHAT COMMAND WORDS: where neither the keeper nor the run can give the machine back after the command, the
# kernel takes its threads, and the keeper says these words later. Both are in the cgroup `both`.
goes_back() {
	start /usr/kernel/half.kdl
	hogs 3
	for process in $hls $run; do echo "$process" >$both/cgroup.procs; done
	eval "$2"
	within 200 is disabled || fail "$1: sched_ext is $(cat /sys/kernel/sched_ext/state)"
	hogs_get_on 1
	echo 0 >$both/cgroup.freeze
	kill -CONT "$hls"
	kill -CONT "$run" 2>/dev/null
	wait "$hls"
	[ $? = 3 ] || fail "$1: hls did not exit with 3"
	grep -q "$3" /tmp/said || fail "$1: hls does not say so"
	end_hogs
}
both=/sys/fs/cgroup/both
mkdir $both
taken="the kernel has taken its threads back: .*hls does not go on"
goes_back "both are stopped" 'kill -STOP $hls; kill -STOP $run' "$taken"
goes_back "both are frozen" 'echo 1 >$both/cgroup.freeze' "$taken"
goes_back "the run is killed while its keeper is stopped" 'kill -STOP $hls; kill -9 $run' "signal 9 has ended the run"
rmdir $both

# SysRq-S ends the run, and hls says so.
start /usr/kernel/half.kdl
hogs 3
echo S >/proc/sysrq-trigger
wait "$hls"
[ $? = 3 ] || fail "after SysRq-S hls did not exit with 3"
is disabled || fail "after SysRq-S sched_ext is $(cat /sys/kernel/sched_ext/state)"
grep -q "the kernel has taken its threads back: .*sysrq" /tmp/said || fail "hls does not say that it was SysRq-S"
hogs_get_on 1
end_hogs

# Attach and detach many times. With two CPUs that take turns a run may say that a promise was broken.
for _ in $(seq "$CYCLES"); do
	hls run /usr/kernel/half.kdl --engine kernel --for 100ms >/dev/null 2>/tmp/said
	status=$?
	[ "$status" -le 1 ] || fail "a cycle: hls exited with $status"
	is disabled || fail "a cycle: sched_ext is $(cat /sys/kernel/sched_ext/state)"
done
none_is_lost
