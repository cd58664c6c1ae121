#!/bin/sh
# Agents that do as they should, and agents that do not: in each case a thread has what it was promised beside them, and
# the threads of their schedulers go on; so too where that scheduler is below others, whose policies are processes and
# decide for the one below. One CPU, whose time is exact.
. /usr/kernel/lib.sh

# below DEPTH: schedulers below each other, so that the next one, below `above` with these `parameters`, is that deep.
below() {
	above=USERS parameters="width=1 priority=1"
	for level in $(seq 2 "$1"); do
		as_nobody "exec hls ctl promote L$level --below $above $parameters -- chooser" >/tmp/chooser 2>&1 &
		within 100 has L$level || fail "L$level is not there: $(cat /tmp/chooser; hls ctl status)"
		above=L$level parameters=width=1
	done
}

has() { ! has_no "$1"; }

# beside KIND LEAST SLOT...: an agent of this kind for two seconds, in which the neighbour is promised 800 ms, less its
# last period, and must have as many ms; the threads in the slots must have CPU time. Then all processes of the user are
# killed: others may have the CPU for a millisecond before the last of them has gone.
beside() {
	kind=$1 least=$2
	shift 2
	below $depth
	>/tmp/agent
	as_nobody "exec composite $kind U $above $(echo $parameters | tr = ' ')" >/tmp/agent 2>&1 &
	within 100 test -s /tmp/agent
	read -r _ worker1 worker2 worker3 </tmp/agent && [ -n "$worker3" ] ||
		fail "$kind: the workers are not granted: $(cat /tmp/agent; hls ctl status)"
	chrt -f 50 warden watch 2 "$neighbour" "$worker1" "$worker2" "$worker3" >/tmp/watched || fail "$kind: warden watch"
	read -r had had1 had2 had3 </tmp/watched
	runs "beside an agent: $kind"
	hls ctl status >/tmp/status
	chrt -f 50 warden end 65534 $hogs >/tmp/ended || fail "$kind: the processes are not ended"
	read -r ended delayed </tmp/ended
	echo "$kind, $depth deep: the neighbour had $had ms of 800, workers $had1, $had2 and $had3 ms; killed within" \
		"$ended us, of which others had $delayed us; $(grep '^U has' /tmp/status)"
	for scheduler in U $(seq 2 "$depth" | sed s/^/L/); do
		within 50 has_no $scheduler || fail "$kind: $scheduler stays: $(hls ctl status)"
	done
	[ "$had" -ge "$least" ] || fail "$kind: the neighbour had $had ms"
	[ "$(of "$neighbour" broken)" = 0 ] || fail "$kind: a promise broke"
	for slot in "$@"; do
		eval "[ \$had$slot -gt 40 ]" || fail "$kind: worker $slot had next to nothing"
	done
	[ "$delayed" -le 1000 ] || fail "$kind: others had $delayed us before the killed processes had gone"
}

as_nobody true
start /usr/kernel/composite.kdl --slack 500us
answers
named_hogs neighbour other
neighbour=$(echo $hogs | cut -d" " -f1)
within 50 is_at "$neighbour" RES || fail "the neighbour is below $(of "$neighbour" scheduler)"
depth=1
for kind in none loop storm unmap crash stop exec; do
	beside $kind 796 2 3
done
# These decide for the least slot, and the garbage may hold whom it likes.
beside good 796 1
beside takeover 796 1
beside garbage 796
beside fork 796
# Threads that are killed have a twentieth of the CPU, and a burst.
beside kills 755 2 3
for depth in 2 4 8; do
	for kind in none loop storm; do
		beside $kind 796 2 3
	done
	beside garbage 796
done
end_hogs
none_is_lost
stop
