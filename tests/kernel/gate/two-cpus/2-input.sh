#!/bin/sh
# A file that names what the machine does not have is an error before anything is attached; a thread that fits no place,
# or two, is named, and the run goes on.
. /usr/kernel/lib.sh

refused() {
	printf 'time-sharing "TS" {\n\tthread "x" %s\n}\n' "$1" >/tmp/refused.kdl
	hls run /tmp/refused.kdl --engine kernel >/tmp/report 2>/tmp/said
	status=$?
	[ "$status" = 2 ] || fail "$1: hls exited with $status, expected 2"
	grep -q "$2" /tmp/said || fail "$1: hls does not say '$2'"
	is disabled || fail "$1: sched_ext is $(cat /sys/kernel/sched_ext/state)"
}
refused 'pid=4000000' "found pid=4000000, a process that is not there"
refused 'cgroup="/sys/no/such"' which is not there

mkdir /sys/fs/cgroup/here
cat >/tmp/two.kdl <<'KDL'
proportional-share "PS" {
	thread "one" share=1 comm="twice*"
	thread "two" share=1 cgroup="/here" instances=2
	time-sharing "rest" share=4 width=2 default=#true
}
KDL
start /tmp/two.kdl
hogs 3
for pid in $hogs; do echo "$pid" >/sys/fs/cgroup/here/cgroup.procs; done
# The hogs may have begun before the run did.
within 50 grep -q 'all instances of `two` are taken' /tmp/said || fail "hls does not say that instances are taken"
sh -c 'echo $$ >/sys/fs/cgroup/here/cgroup.procs; exec hog twice' &
hogs="$hogs $!"
within 50 grep -q 'fits both `one` and `two`' /tmp/said || fail "hls does not say that two rules fit"
hogs_get_on 1
end_hogs
stop
