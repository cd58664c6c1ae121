#!/bin/sh
# Policies come and go while the hierarchy runs: loaded without a detach, used, and unloaded; what was promised holds.
. /usr/kernel/lib.sh

start /usr/kernel/ctl.kdl --slack 50ms
answers
hogs 4
asks_for() {
	"$@" >/tmp/granted 2>/tmp/said2 || fail "$*: $(cat /tmp/said2)"
	cat /tmp/granted
}
member=$(echo $hogs | cut -d' ' -f1)
asks reserve "${hogs##* }" "RESBH 100ms 300ms"
asks_for hls load /usr/policies/asked_times.c
hls load /usr/policies/asked_times.c && fail "loaded twice"
asks create asked-times A --below FP priority=0 slot=1ms
asks move "$member" --to A
sleep 1
hls ctl status
hls unload asked-times 2>/tmp/said2 && fail "unloaded while in use"
cat /tmp/said2
asks release "$member"
asks destroy A
asks_for hls unload asked-times
asks_for hls load /usr/policies/asked_times.c
asks_for hls unload asked-times
sleep 1
stop

cat /tmp/said
