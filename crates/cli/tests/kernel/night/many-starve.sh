#!/bin/sh
# More threads compute than can have a turn before the kernel calls them stalled, which it does after 30 s: the run goes
# on, and a promise is kept. One CPU, whose time is exact.
. /usr/kernel/lib.sh

echo 200000 >/proc/sys/kernel/pid_max
echo 200000 >/proc/sys/kernel/threads-max
# Without --paranoid: to check all invariants is a walk over all threads.
is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state) before the start"
hls run --engine kernel /usr/kernel/ctl.kdl >/tmp/report 2>/tmp/said &
hls=$!
within 3000 attached_or_gone && is enabled || fail "the hierarchy was not attached"
echo "<4>hls-vm: runs" >/dev/kmsg
answers
hogs 1
film=${hogs# }
asks reserve "$film" "RESBH 10ms 33ms"
# Or each step of this shell, and of the herd's first thread, would take as long as it takes until all have had a turn.
asks reserve $$ "RESBH 5ms 33ms"
herd 14000 busy >/tmp/herd &
herd=$!
asks reserve "$herd" "RESBH 10ms 33ms"
within 6000 grep -q ready /tmp/herd || fail "the herd is not ready"
before=$(ran "$film")
sleep 60
runs "14,000 threads compute"
had=$(($(ran "$film") - before))
echo "the reserved thread had $had ms of 18,180 in a minute"
[ "$had" -ge 18170 ] || fail "the reserved thread had $had ms of 18,180"
echo "<4>hls-vm: stops" >/dev/kmsg
kill -INT "$hls"
wait "$hls"
is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state) after the end"
kill -9 "$herd" $hogs
