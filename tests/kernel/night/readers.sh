#!/bin/sh
# Many starved threads look up paths, in critical sections of RCU: RCU waits for those that have lost the CPU there, and
# the kernel ends a run for which it has waited 21 s. One CPU, in exact time.
# To check all invariants is a walk over all threads.
UNCHECKED=yes
. /usr/kernel/lib.sh

# all_read: whether all threads of the herd have been made.
all_read() { [ "$(ls "/proc/$herd/task" | wc -l)" -gt 3000 ]; }

start /usr/kernel/ctl.kdl
answers
# Otherwise each step of this shell would wait until all threads have had a turn.
chrt -f -p 50 $$ >/dev/null
chrt -o 0 herd 3000 reading >/tmp/herd &
herd=$!
within 600 all_read || fail "there are $(ls "/proc/$herd/task" | wc -l) threads, expected more than 3,000"
# Until the threads starve.
sleep 15
chrt -f 50 grace 20 >/tmp/grace || fail "there is no grace period"
runs "3,000 threads read paths"
sort -n /tmp/grace >/tmp/sorted
echo "grace periods of RCU took" $(cat /tmp/sorted) "ms"
# A reader waits for 1 s, for up to 1 s until it is found, and then for its turn. A thread that was found before it was a
# reader may wait for a whole round of 10 s.
[ "$(sed -n 10p /tmp/sorted)" -lt 4000 ] || fail "half of the grace periods took 4 s"
[ "$(tail -n 1 /tmp/sorted)" -lt 14000 ] || fail "a grace period took 14 s"
# The end of the run is not judged, as in many-starve.sh.
