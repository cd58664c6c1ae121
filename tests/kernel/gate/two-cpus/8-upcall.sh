#!/bin/sh
# Threads that wait for events of the kernel, for an eventfd, a timerfd and a socket of AF_XDP: whether they run at once
# is decided by urgencies, without an agent; what comes while they do not is pending. Two CPUs.
# Engine: user-level
. /usr/kernel/lib.sh

ip link set lo up 2>/dev/null || ifconfig lo up || fail "the loopback device"
start /usr/kernel/upcall.kdl
answers
for source in eventfd timerfd xdp; do
	upcall "$source" U FP width 1 priority 2 >/tmp/upcalls 2>&1 || fail "upcalls of $source: $(cat /tmp/upcalls)"
	cat /tmp/upcalls
	within 50 has_no U || fail "U stays: $(hls ctl status)"
done
none_is_lost
stop
