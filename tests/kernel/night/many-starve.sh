#!/bin/sh
# More threads compute than can have a turn before the kernel calls them stalled, which it does after 30 s: the run goes
# on, and a promise is kept. One CPU, in exact time.
# To check all invariants is a walk over all threads.
UNCHECKED=yes
. /usr/kernel/lib.sh

# all_compute: whether all threads of the herd have been made.
all_compute() { [ "$(ls "/proc/$herd/task" | wc -l)" -gt 14000 ]; }

echo 200000 >/proc/sys/kernel/pid_max
echo 200000 >/proc/sys/kernel/threads-max
start /usr/kernel/ctl.kdl
answers
# Otherwise each step of this shell would wait until all threads have had a turn.
chrt -f -p 50 $$ >/dev/null
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
