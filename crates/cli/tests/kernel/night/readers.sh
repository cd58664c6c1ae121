#!/bin/sh
# Many starved threads look up paths, in critical sections of RCU: RCU waits for those that have lost the CPU there, and
# the kernel ends a run for which it has waited 21 s. One CPU, in exact time.
. /usr/kernel/lib.sh

# all_read: whether all threads of the herd have been made.
all_read() { [ "$(ls "/proc/$herd/task" | wc -l)" -gt 3000 ]; }

# Otherwise each step of this shell would wait until all threads have had a turn.
chrt -f -p 50 $$ >/dev/null
is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state) before the start"
# Without --paranoid: to check all invariants is a walk over all threads.
chrt -o 0 hls run --engine kernel /usr/kernel/ctl.kdl >/tmp/report 2>/tmp/said &
hls=$!
within 3000 attached_or_gone && is enabled || fail "the hierarchy was not attached"
echo "<4>hls-vm: runs" >/dev/kmsg
answers
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
