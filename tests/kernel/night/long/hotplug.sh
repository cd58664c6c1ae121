#!/bin/sh
# A CPU goes offline and comes back, again and again, under load: threads that may use another CPU get on all the while.
. /usr/kernel/lib.sh

cpu=/sys/devices/system/cpu/cpu1/online
set_online() { echo "$1" >"$cpu" || fail "CPU 1: online cannot be set to $1"; }

again_and_again() {
	for round in $(seq "$STORM"); do
		set_online 0
		usleep $((round * 79190 % 300000))
		set_online 1
		usleep $((round * 61010 % 100000))
		runs "CPU 1 has come and gone $round times"
	done
}

start /usr/kernel/half.kdl
hogs 2
named_hogs shared reserved
hogs_get_on 2
set_online 0
within 50 grep -q "CPU 1 is offline" /tmp/said || fail "hls does not say that the CPU has gone"
hogs_get_on 2
set_online 1
within 50 grep -q "CPU 1 is back" /tmp/said || fail "hls does not say that the CPU is back"
hogs_get_on 2
again_and_again
hogs_get_on 2
end_hogs
none_is_lost
stop

# A CPU that is offline before the run starts comes back later.
set_online 0
start /usr/kernel/half.kdl
within 50 grep -q "CPU 1 is offline" /tmp/said || fail "hls does not say that a CPU is offline"
hogs 2
hogs_get_on 1
set_online 1
within 50 grep -q "CPU 1 is back" /tmp/said || fail "hls does not say that the CPU is back"
hogs_get_on 1
end_hogs
stop

# The kernel lets a thread that may use CPU 1 alone use others when CPU 1 goes.
start /usr/kernel/any.kdl
hogs 2
taskset 2 hog &
hogs="$hogs $!"
hogs_get_on 1
again_and_again
hogs_get_on 2
end_hogs
none_is_lost
stop

# CPU 1 goes and comes back beside a thread of the kernel that never sleeps, and waits for it now and then.
start /usr/kernel/half.kdl
hogs 2
taskset -p 2 "$(pidof ksmd)" >/dev/null || fail "the kernel's thread cannot be bound"
busy_kernel_thread
again_and_again
hogs_get_on 5
end_kernel_thread
end_hogs
none_is_lost
stop

# CPU 1 goes and comes back beside threads that come, change and go all the time.
start /usr/kernel/half.kdl
named_hogs reserved
stress-ng --timeout 3600 --oomable --fork 1 --clone 1 --clone-max 8 --affinity 1 >/tmp/stress 2>&1 &
stress=$!
again_and_again
gone "$stress" && fail "stress-ng has ended: $(cat /tmp/stress)"
kill -INT "$stress"
wait "$stress"
hogs_get_on 5
end_hogs
none_is_lost
stop
