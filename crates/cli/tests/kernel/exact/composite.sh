#!/bin/sh
# Agents that do as they should, and agents that do not: in each case a thread has what it was promised beside them, and
# the threads of their schedulers go on. One CPU, whose time is exact.
. /usr/kernel/lib.sh

# ran TID: prints the thread's CPU time in microseconds.
ran() { awk '{ printf "%d\n", $1 / 1000 }' "/proc/$1/schedstat"; }

# worker SLOT: prints the TID of the thread that is to be in the slot.
worker() { grep -lx "worker$1" /proc/[0-9]*/task/*/comm 2>/dev/null | cut -d/ -f5 | head -n 1; }

# is_placed TID SCHEDULER: whether the thread is below it.
is_placed() { [ "$(of "$1" scheduler)" = "$2" ]; }

# is_granted SLOT: whether the thread that is to be in the slot is below U.
is_granted() { is_placed "$(worker "$1")" U; }

# of_nobody: prints the processes of the user without rights, but for shells.
of_nobody() {
	for process in /proc/[0-9]*; do
		[ "$(stat -c %u "$process" 2>/dev/null)" = 65534 ] && case $(cat "$process/comm") in
		composite | worker? | sleep) echo "${process#/proc/}" ;;
		esac
	done
}

# beside KIND SLOT...: an agent of this kind for five seconds. The threads in the slots must have CPU time, and the
# neighbour 2,000 ms less its last period. Then all processes of the user are killed, and must be gone within MOST_US.
beside() {
	kind=$1
	shift
	as_nobody "composite $kind U USERS" >/tmp/agent 2>&1 &
	for slot in 1 2 3; do
		within 50 is_granted $slot || fail "$kind: worker $slot is not granted: $(cat /tmp/agent)"
	done
	sleep 0.5
	before=$(ran "$neighbour")
	for slot in 1 2 3; do eval "before$slot=$(ran "$(worker $slot)")"; done
	sleep 5
	had=$((($(ran "$neighbour") - before) / 1000))
	for slot in 1 2 3; do eval "had$slot=\$(((\$(ran \$(worker $slot)) - before$slot) / 1000))"; done
	broken=$(of "$neighbour" broken)
	runs "beside an agent: $kind"
	hls ctl status >/tmp/status
	ended=$(chrt -f 50 composite end $(of_nobody)) || fail "$kind: the processes are not ended"
	within 50 has_no_scheduler || fail "$kind: the scheduler stays: $(hls ctl status)"
	echo "$kind: the neighbour had $had ms of 2000, workers $had1, $had2 and $had3 ms; killed within $ended us;" \
		"$(grep '^U has' /tmp/status)"
	[ "$had" -ge 1996 ] || fail "$kind: the neighbour had $had ms"
	[ "$broken" = 0 ] || fail "$kind: a promise broke"
	for slot in "$@"; do
		eval "[ \$had$slot -gt 100 ]" || fail "$kind: worker $slot had next to nothing"
	done
	[ "$ended" -le "$MOST_US" ] || fail "$kind: killed processes lived on for $ended us"
}

has_no_scheduler() { ! hls ctl status | grep -q '[─] U '; }

MOST_US=3000
start /usr/kernel/composite.kdl --slack 500us
answers
named_hogs neighbour other
neighbour=$(echo $hogs | cut -d" " -f1)
within 50 is_placed "$neighbour" RES || fail "the neighbour is below $(of "$neighbour" scheduler)"
for kind in none loop storm unmap crash stop exec; do
	beside $kind 2 3
done
# This one decides for the least slot, and the garbage may hold whom it likes.
beside good 1
beside garbage
beside fork
end_hogs
none_is_lost
stop
