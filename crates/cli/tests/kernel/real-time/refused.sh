#!/bin/sh
# A kernel with PREEMPT_RT gives BPF programs no timers: the doctor says so, a run is refused with the reason, and the
# threads stay with the kernel's own scheduler.
. /usr/kernel/lib.sh

hls doctor --json >/tmp/report
status=$?
[ "$status" = 1 ] || fail "the doctor exited with $status, expected 1"
grep -q "BPF programs no timers" /tmp/report || fail "the doctor does not say why"

hogs 2
hls run --engine kernel /usr/kernel/half.kdl >/tmp/report 2>/tmp/said
status=$?
[ "$status" = 3 ] || fail "hls exited with $status, expected 3"
grep -q "bpf_timer cannot be used for PREEMPT_RT" /tmp/said || fail "hls does not say why"
grep -q "hls doctor says what this takes" /tmp/said || fail "hls does not point to the doctor"
is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state)"
hogs_get_on 1
end_hogs
none_is_lost
