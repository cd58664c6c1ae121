#!/bin/sh
# Agents that do as they should, and agents that do not: in each case a thread has what it was promised beside them, and
# the threads of their schedulers go on. One CPU, whose time is exact.
. /usr/kernel/lib.sh

# beside KIND LEAST SLOT...: an agent of this kind for two seconds, in which the neighbour is promised 800 ms, less its
# last period, and must have as many ms; the threads in the slots must have CPU time. Then all processes of the user are
# killed: others may have the CPU for a millisecond before the last of them has gone.
beside() {
	kind=$1 least=$2
	shift 2
	>/tmp/agent
	as_nobody "exec composite $kind U USERS width 1 priority 1" >/tmp/agent 2>&1 &
	within 100 test -s /tmp/agent
	read -r _ worker1 worker2 worker3 </tmp/agent && [ -n "$worker3" ] ||
		fail "$kind: the workers are not granted: $(cat /tmp/agent; hls ctl status)"
	chrt -f 50 warden watch 2 "$neighbour" "$worker1" "$worker2" "$worker3" >/tmp/watched || fail "$kind: warden watch"
	read -r had had1 had2 had3 </tmp/watched
	runs "beside an agent: $kind"
	hls ctl status >/tmp/status
	chrt -f 50 warden end 65534 $hogs >/tmp/ended || fail "$kind: the processes are not ended"
	read -r ended delayed </tmp/ended
	echo "$kind: the neighbour had $had ms of 800, workers $had1, $had2 and $had3 ms; killed within $ended us, of" \
		"which others had $delayed us; $(grep '^U has' /tmp/status)"
	within 50 has_no U || fail "$kind: the scheduler stays: $(hls ctl status)"
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
end_hogs
none_is_lost
stop
