#!/bin/sh
# A kernel that hides its addresses. The engine still tells threads that may not leave their CPU from those that were
# only preempted: three hogs that share two CPUs go to and fro. Two CPUs.
. /usr/kernel/lib.sh

# Prints each hog with the CPU that it is on.
places() { for hog in $hogs; do cut -d' ' -f1,39 "/proc/$hog/stat"; done; }

echo 2 >/proc/sys/kernel/kptr_restrict
start /usr/kernel/plain.kdl
hogs 3
sleep 1
for _ in $(seq 30); do
	places
	usleep 100000
done | sort | uniq -c >/tmp/places
[ "$(wc -l </tmp/places)" = 6 ] || fail "not all hogs were on both CPUs (samples, hog, CPU): $(cat /tmp/places)"
end_hogs
stop
