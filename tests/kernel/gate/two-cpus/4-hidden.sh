#!/bin/sh
# A kernel that hides its addresses. The engine still tells threads that may not leave their CPU from those that were
# only preempted: three hogs that share two CPUs go to and fro. Two CPUs.
. /usr/kernel/lib.sh

# were_on_both: whether each hog has been seen on both CPUs so far.
were_on_both() {
	for hog in $hogs; do cut -d' ' -f1,39 "/proc/$hog/stat"; done >>/tmp/places
	[ "$(sort -u /tmp/places | wc -l)" = 6 ]
}

echo 2 >/proc/sys/kernel/kptr_restrict
start /usr/kernel/plain.kdl
hogs 3
within 100 were_on_both || fail "not all hogs were on both CPUs (samples, hog, CPU): $(sort /tmp/places | uniq -c)"
end_hogs
stop
