#!/bin/sh
# Agents that do as they should, and agents that do not, on CPUs that run at once: beside each of them a thread has what
# it was promised, which is told and not judged, for the host gives these CPUs its own by turns; the threads go on.
# Engine: user-level
. /usr/kernel/lib.sh
. /usr/kernel/agents.sh

# The neighbour is promised 1600 ms in four seconds. A window is ten of its periods.
seconds=4 window=100 parameters="width=2 share=1" depth=1
most_delayed() { echo 2000000; }

as_nobody true
start /usr/kernel/isolation.kdl --slack 1s
answers
named_hogs neighbour other another
neighbour=$(echo $hogs | cut -d" " -f1)
within 50 is_at "$neighbour" RES || fail "the neighbour is below $(of "$neighbour" scheduler)"
for kind in none loop storm unmap crash stop exec good takeover traced garbage fork kills; do
	beside $kind 1400
done
end_hogs
none_is_lost
stop
