#!/bin/sh
# The work of packets is scheduled, where threads of the kernel do it: CPU 1 sends a flood of packets, and has CPU 0 take
# them. Two CPUs, and a kernel that was booted with such threads.
. /usr/kernel/lib.sh

# Prints the time since the boot in hundredths of a second.
now() { awk '{ printf "%d\n", $1 * 100 }' /proc/uptime; }

# takes SECONDS: prints the percentage of a CPU that the packets take.
takes() {
	began=$(now) before=$(ran "$packets")
	sleep "$1"
	echo $((($(ran "$packets") - before) * 10 / ($(now) - began)))
}

# are_many: whether packets take far more than their reservation allows, `free` % of a CPU.
are_many() {
	free=$(takes 3)
	[ "$free" -gt 20 ]
}

packets=$(grep -lx backlog_napi/0 /proc/[0-9]*/comm | cut -d/ -f3)
[ -n "$packets" ] || fail "the kernel has no thread for packets"
ip link set lo up 2>/dev/null || ifconfig lo up || fail "the loopback device"
echo 1 >/sys/class/net/lo/queues/rx-0/rps_cpus || fail "packets do not go to CPU 0"
taskset 2 flood &
flood=$!
sleep 1
within 1 are_many || fail "packets take $free % of a CPU without a hierarchy: too few for this test"

# Stopped meanwhile: beside a flood the start takes minutes.
kill -STOP $flood
echo 'time-sharing "rest" default=#true { thread "card" source="napi:none0"; }' >/tmp/none.kdl
hls run --engine kernel /tmp/none.kdl --for 1s >/tmp/report 2>/tmp/said
[ $? = 2 ] || fail "hls exited with $? for a device that is not there"
grep -q 'none.kdl:1:.*found no device `none0`' /tmp/said || fail "hls does not name the device"

start /usr/kernel/brand.kdl
answers
kill -CONT $flood
moves "$packets" RES
sleep 1
reserved=$(takes 5)
echo "packets take $free % of a CPU, and $reserved % in a reservation of 10 %"
[ "$reserved" -ge 9 ] && [ "$reserved" -le 11 ] || broke "packets take $reserved % of a CPU, expected 10"
stop
within 1 are_many || fail "packets take $free % of a CPU when the hierarchy has gone"
kill $flood
echo 0 >/sys/class/net/lo/queues/rx-0/rps_cpus
none_is_lost
