#!/bin/sh
# A file that loads a policy runs: also the budgets that the machine can enforce are measured by an engine that other
# processes have loaded, and that engine knows the cgroups. One CPU, whose time is exact.
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
stop
echo -cpu >/sys/fs/cgroup/cgroup.subtree_control
within 50 rmdir $heavy || fail "$heavy does not go"
