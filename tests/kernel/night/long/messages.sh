#!/bin/sh
# Threads send their scheduler as many messages as they can, wrong ones too: while it has its policy, while that policy
# is unloaded, and after hls was killed. Promises to other threads hold.
. /usr/kernel/lib.sh
. /usr/kernel/policies.sh

nothing=$(in_kernel)
start /usr/kernel/ctl.kdl --slack $slack
answers
reserve_some 2
give_up_one /usr/policies/asked_times.c
does hls load /usr/policies/asked_times.c
does hls ctl create asked-times A --below RES guarantee="RESBH 40ms 200ms" slot=1ms
teller hostile A >/tmp/granted 2>/tmp/said2 || fail "hostile messages: $(cat /tmp/granted)"
keeps "$reserved" "hostile messages"

teller storm A "$STORM" >/tmp/granted 2>/tmp/said2 || fail "a storm: $(cat /tmp/granted)"
[ "$(grep -c '^[1-9][0-9]* done, [0-9]* busy, 0 unknown' /tmp/granted)" = 4 ] || fail "a storm: $(cat /tmp/granted)"
grep -q 'done, [1-9][0-9]* busy' /tmp/granted || fail "no message was refused as busy: $(cat /tmp/granted)"
hogs_get_on 1
keeps "$reserved" "a storm"
runs "a storm"

# Threads send messages while their scheduler is destroyed: the answer is that there is no such message any more.
teller storm A 0 >/tmp/talk 2>&1 &
talk=$!
sleep 1
refuses "in use by .A." hls unload asked-times
does hls unload asked-times --evacuate
grep -q "^4 threads are below the default scheduler now" /tmp/granted || fail "moved: $(cat /tmp/granted)"
wait $talk || fail "while they were moved: $(cat /tmp/talk)"
[ "$(grep -c '^[1-9][0-9]* done, [0-9]* busy, 1 unknown' /tmp/talk)" = 4 ] || fail "they were told: $(cat /tmp/talk)"
keeps "$reserved" "evacuation"
nothing_is_left "$before" "messages"

# Threads still send messages when hls is killed: they get an error, and the kernel frees all that hls had.
does hls load /usr/policies/asked_times.c
does hls ctl create asked-times A --below RES guarantee="RESBH 40ms 200ms" slot=1ms
teller storm A 0 >/tmp/talk 2>&1 &
talk=$!
sleep 1
kill -9 "$hls"
wait "$hls" 2>/dev/null
within 100 is disabled || fail "killed while it is told a lot: sched_ext is $(cat /sys/kernel/sched_ext/state)"
sleep 1
kill -9 $talk
wait $talk 2>/dev/null
end_hogs
nothing_is_left "$nothing" "a killed run"
none_is_lost
