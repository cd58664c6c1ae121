#!/bin/sh
# Hundreds of threads that the hierarchy lets starve take turns: each gets on within half a minute, when sched_ext would
# put an end to it.
. /usr/kernel/lib.sh

hogs 300
starved=$hogs
renice -n 19 -p $starved >/dev/null
mkdir /sys/fs/cgroup/ours
echo $$ >/sys/fs/cgroup/ours/cgroup.procs
start /usr/kernel/turns.kdl
hogs 4
hogs="$hogs $starved"
hogs_get_on 30
runs "300 that starve"
end_hogs
none_is_lost
stop
