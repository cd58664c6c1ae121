#!/bin/sh
# Hundreds of threads that the hierarchy lets starve take turns: each gets on within half a minute, when sched_ext would
# put an end to it.
. /usr/kernel/lib.sh

# Before the start they are not to be in the way.
starved=
for _ in $(seq 200); do
	chrt -i 0 sh -c 'while :; do :; done' &
	starved="$starved $!"
done
mkdir /sys/fs/cgroup/ours
echo $$ >/sys/fs/cgroup/ours/cgroup.procs
start /usr/kernel/turns.kdl
hogs 4
hogs="$hogs $starved"
hogs_get_on 30
runs "200 that starve"
end_hogs
none_is_lost
stop
