#!/bin/sh
# hls is killed in the midst of requests that promote a scheduler, grant it a thread, revoke the thread and demote the
# scheduler: at INSTANTS instants of such a cycle, in turn the keeper of the run and the run itself. Whatever was half
# done, nothing of it stays behind, and another run begins as the first did. Two CPUs.
# Engine: user-level
. /usr/kernel/lib.sh

# begin: the hierarchy runs. The hog stands still meanwhile: hls needs the CPU.
begin() {
	kill -STOP $hogs
	start /usr/kernel/promote.kdl
	answers
	kill -CONT $hogs
}

# killed PART: the hierarchy runs, and a process of hls is killed when PART of INSTANTS parts of a cycle are over.
killed() {
	begin
	hls ctl promote PARKED --below PS width=1 -- chooser &
	moves $! PARKED
	agents=$(pidof chooser)
	[ $(($1 % 2)) = 0 ] && victim=$hls || victim=$run
	promoter "$victim" "$1" "$INSTANTS" "$hogs" U PS width 1 >/tmp/promoted 2>&1 ||
		fail "instant $1: $(cat /tmp/promoted)"
	echo "instant $1 of $INSTANTS: $(cat /tmp/promoted)"
	wait "$hls"
	within 50 is disabled || fail "instant $1: sched_ext is $(cat /sys/kernel/sched_ext/state)"
	for pid in $hls $run $agents; do within 100 has_ended "$pid" || fail "instant $1: process $pid goes on"; done
	[ "$(find /sys/fs/bpf)" = "$pinned" ] || fail "instant $1: pinned is $(find /sys/fs/bpf)"
	within 100 still "$before" || fail "instant $1: there were $before, there are $(in_kernel)"
	hogs_get_on 1
}

as_nobody true
count
pinned=$(find /sys/fs/bpf)
hogs 1
hogs=${hogs# }
for instant in $(seq 0 $((INSTANTS - 1))); do killed "$instant"; done
begin
has_started chooser
of_file=$agent
hls ctl promote U --below PS width=1 -- chooser &
moves $! U
asks grant U "$hogs" slot=1
hogs_get_on 1
asks demote U
end_hogs
end_agent "$of_file"
none_is_lost
stop
