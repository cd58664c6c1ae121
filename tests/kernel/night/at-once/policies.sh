#!/bin/sh
# Policies come and go while the hierarchy runs: loaded without a detach, used, disabled for breaking the contract,
# unloaded. Promises to other threads hold, and a process that is killed meanwhile leaves nothing behind.
. /usr/kernel/lib.sh
. /usr/kernel/policies.sh

asked=/usr/policies/asked_times.c
start /usr/kernel/ctl.kdl --slack $slack
answers
reserve_some 2
member=$(echo $hogs | cut -d' ' -f1)

# A policy is loaded, used, and unloaded.
does hls load $asked
refuses "already" hls load $asked
refuses "built in" hls load $asked --as round-robin
does hls ctl create asked-times A --below RES guarantee="RESBH 20ms 200ms" slot=1ms
does hls ctl move "$member" --to A
refuses "in use by .A." hls unload asked-times
within 20 has_got "$member" ran_ns 10 || fail "$member had nothing below A"
does hls ctl release "$member"
does hls ctl destroy A
does hls unload asked-times
refuses "no policy" hls unload asked-times

# A policy in a file of another name is refused; one that the verifier refuses is refused with the line of its file.
# Then one that never grants a CPU: its children go on, with the time that its scheduler gets.
cp $asked /tmp/another_name.c
refuses "another_name.c: error: found no policy" hls load /tmp/another_name.c
refuses "unbounded.c:[0-9]*: error" hls load /usr/policies/unbounded.c
does hls load /usr/policies/names_none.c
does hls ctl create names-none N --below RES guarantee="RESBH 20ms 200ms"
does hls ctl move "$member" --to N
within 20 has_got "$member" ran_ns 10 || fail "$member starves below a policy that was disabled"
does hls ctl release "$member"
does hls ctl destroy N
does hls unload names-none

# A policy that is loaded runs in the kernel, and nothing of it runs here: neither in hls run nor in the process that
# prepares it.
does hls load /usr/policies/runs_at_once.c
does hls ctl create runs-at-once O --below RES guarantee="RESBH 20ms 200ms"
does hls ctl destroy O
does hls unload runs-at-once
[ ! -e /tmp/evidence ] || fail "loading a policy ran its native code"

# A CPU goes offline and comes back while an engine is verified, if there is another one.
if [ "$(nproc)" -gt 1 ]; then
	anew $asked
	hls load "$copy" >/tmp/granted 2>/tmp/said2 &
	load=$!
	within 100 preparing >/dev/null || fail "no process prepares an engine"
	echo 0 >/sys/devices/system/cpu/cpu1/online
	sleep 0.2
	echo 1 >/sys/devices/system/cpu/cpu1/online
	wait $load || fail "not loaded beside a CPU that goes: $(cat /tmp/said2)"
	does hls unload asked-times
fi

# The process that has an engine verified is killed.
count
anew $asked
hls load "$copy" >/tmp/granted 2>/tmp/said2 &
load=$!
within 100 preparing >/tmp/worker || fail "no process prepares an engine"
kill -9 "$(cat /tmp/worker)"
wait $load && fail "loaded by nobody"
grep -q "has ended" /tmp/said2 || fail "does not say that it was killed: $(cat /tmp/said2)"
nothing_is_left "$before" "the process that prepared an engine was killed"
does hls load $asked
does hls unload asked-times

keeps "$reserved" "policies that come and go"
kill $hogs
stop
