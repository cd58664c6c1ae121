#!/bin/sh
# A file that loads a policy runs: also the budgets that the machine can enforce are measured by an engine that other
# processes have loaded, and that engine knows the cgroups. A built-in policy that the file does not name comes with its
# first scheduler. One CPU, in exact time.
# Engine: asked_times.c bvt
. /usr/kernel/lib.sh
. /usr/kernel/policies.sh

{
	echo 'load "/usr/policies/asked_times.c"'
	cat /usr/kernel/plain.kdl
} >/tmp/loaded.kdl
start /tmp/loaded.kdl
answers
heavy=/sys/fs/cgroup/heavy
mkdir $heavy
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control && echo 300 >$heavy/cpu.weight || fail "cgroups cannot have weights"
hogs 2
echo ${hogs% *} >$heavy/cgroup.procs
ratio 2.9 3.1 "weights of 300 and 100"
end_hogs
# The engine was made without this policy. The next one has it, beside what is loaded.
does hls ctl create bvt B --below RES guarantee="RESBH 10ms 100ms" width=1
does hls ctl create asked-times A --below RES guarantee="RESBH 20ms 200ms" slot=1ms
hogs 2
does hls ctl move ${hogs% *} --to B share=1
sleep 0.5
[ "$(of ${hogs% *} ran_ns)" -gt 30000000 ] || fail "a thread of bvt had nothing in half a second"
end_hogs
does hls ctl destroy A
does hls ctl destroy B
stop
echo -cpu >/sys/fs/cgroup/cgroup.subtree_control
within 50 rmdir $heavy || fail "$heavy does not go"
