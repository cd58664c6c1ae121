#!/bin/sh
# Agents that do as they should, and agents that do not: in each case a thread has what it was promised beside them, and
# the threads of their schedulers go on; also where their scheduler is below other schedulers that are processes, each
# of which decides for the scheduler below it. $DEPTHS says how deep in the commonest cases; the others are tried with one
# such scheduler. One CPU, in exact time.
# Engine: user-level
. /usr/kernel/lib.sh
. /usr/kernel/agents.sh

# In two seconds the neighbour is promised 800 ms, less its last period.
seconds=2 window=20 parameters="width=1 priority=1"

# Killed processes have 5 ms of the CPU at once, which is all that they need below one scheduler. Eleven, 8 deep, need 9
# to 13 ms of this slow CPU. The rest they have within the promise of USERS, 4 ms in every 10 ms: others may have 12 ms
# before the first 4 ms are complete, of which the 5 ms at once are a part, and 6 ms before each 4 ms that follow. One
# millisecond more is for what runs at the moments at which these change.
most_delayed() {
	local beyond=$((ended - delayed - 5000))
	[ "$beyond" -gt 0 ] && echo $((1000 + 7000 + 6000 * ((beyond - 1) / 4000))) || echo 1000
}

as_nobody true
start /usr/kernel/composite.kdl --slack $slack
answers
named_hogs neighbour other
neighbour=$(echo $hogs | cut -d" " -f1)
within 50 is_at "$neighbour" RES || fail "the neighbour is below $(of "$neighbour" scheduler)"
for depth in $DEPTHS; do
	for kind in none loop storm; do
		beside $kind 796 2 3
	done
	# The garbage may hold any worker: no worker has to get CPU time.
	beside garbage 796
done
depth=1
for kind in unmap crash stop exec; do
	beside $kind 796 2 3
done
# These decide for the least slot.
beside good 796 1
beside takeover 796 1
beside traced 796 1
beside fork 796
# Killed threads have a twentieth of the CPU, and a burst. Short windows make hls lose records, as kills do.
window=100
beside kills 755 2 3
end_hogs
none_is_lost
stop
