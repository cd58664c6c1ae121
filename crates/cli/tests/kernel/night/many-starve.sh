#!/bin/sh
# More threads compute than can have a turn before the kernel calls them stalled, which it does after 30 s: the run goes
# on, and a promise is kept. One CPU, in exact time.
. /usr/kernel/lib.sh

# all_compute: whether all threads of the herd have been made.
all_compute() { [ "$(ls "/proc/$herd/task" | wc -l)" -gt 14000 ]; }

# Otherwise each step of this shell would wait until all threads have had a turn.
chrt -f -p 50 $$ >/dev/null
echo 200000 >/proc/sys/kernel/pid_max
echo 200000 >/proc/sys/kernel/threads-max
# Without --paranoid: to check all invariants is a walk over all threads.
is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state) before the start"
chrt -o 0 hls run --engine kernel /usr/kernel/ctl.kdl >/tmp/report 2>/tmp/said &
hls=$!
within 3000 attached_or_gone && is enabled || fail "the hierarchy was not attached"
echo "<4>hls-vm: runs" >/dev/kmsg
answers
chrt -o 0 hog &
hogs=$!
asks reserve "$hogs" "RESBH 10ms 33ms"
chrt -o 0 herd 14000 busy >/tmp/herd &
herd=$!
within 600 all_compute || fail "there are $(ls "/proc/$herd/task" | wc -l) threads, expected more than 14,000"
before=$(ran "$hogs")
sleep 60
runs "14,000 threads compute"
had=$(($(ran "$hogs") - before))
echo "the reserved thread had $had ms of 18,180 in a minute"
[ "$had" -ge 18170 ] || fail "the reserved thread had $had ms of 18,180"
# The end of the run is not judged: the kernel waits for its RCU thread, which takes turns with all of these.
