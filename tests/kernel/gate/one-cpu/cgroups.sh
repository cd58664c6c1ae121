#!/bin/sh
# A thread that nobody placed has the share of its nice value times the weights of its cgroups. One CPU, in exact time.
. /usr/kernel/lib.sh

# weight GROUP WEIGHT: the cgroup has this weight from now on.
weight() { echo "$2" >"$groups/$1/cpu.weight" || fail "$1 gets no weight of $2"; }

# into GROUP PID: the process is in that cgroup from now on.
into() { echo "$2" >"$groups/$1/cgroup.procs" || fail "process $2 does not come into $1"; }

groups=/sys/fs/cgroup
mkdir $groups/light $groups/heavy
echo +cpu >$groups/cgroup.subtree_control || fail "cgroups cannot have weights"
weight heavy 300
hogs 2
one=${hogs% *} two=${hogs##* }
into heavy $one
into light $two
# Stopped meanwhile: beside hogs the start takes minutes.
kill -STOP $hogs
start /usr/kernel/plain.kdl --slack $slack
answers
kill -CONT $hogs
ratio 2.9 3.1 "weights of 300 and 100 before the start"
weight light 1200
ratio 0.24 0.26 "weights of 300 and 1200"
weight light 100
renice 5 -p $one >/dev/null
ratio 0.95 1.01 "weights of 300 with nice 5, and 100"
renice 0 -p $one >/dev/null
into heavy $two
ratio 0.95 1.05 "both in the same cgroup"

# A cgroup inside another has the product of both weights: 300 % of 50 %.
mkdir $groups/outer
weight outer 300
echo +cpu >$groups/outer/cgroup.subtree_control
mkdir $groups/outer/inner
weight outer/inner 50
into outer/inner $one
into light $two
ratio 1.45 1.55 "weights of 300 with 50 inside, and 100"
weight outer 600
ratio 2.9 3.1 "weights of 600 with 50 inside, and 100"

# A forked process is in the cgroup of its parent, or where clone3() wants it, from the start.
kill $one
sh -c 'echo 0 >/sys/fs/cgroup/outer/inner/cgroup.procs
	hog &
	echo $! >/tmp/one' || fail "nothing is forked in outer/inner"
one=$(cat /tmp/one)
hogs="$one $two"
ratio 2.9 3.1 "forked in weights of 600 with 50 inside, and 100"
kill $two
two=$(into_cgroup $groups/heavy) || fail "nothing is forked into heavy"
hogs="$one $two"
ratio 0.95 1.05 "forked into a weight of 300"

# A user that owns a cgroup cannot have more than the weight of the cgroup gives.
mkdir $groups/users
weight users 100
echo +cpu >$groups/users/cgroup.subtree_control
chown 65534 $groups/users
mkdir $groups/users/own
weight users/own 10000
into users/own $one
into light $two
ratio 0.95 1.05 "a weight of 10000 in a user's cgroup of 100, and 100"
weight users/own 9999
weight light 50
ratio 1.9 2.1 "a weight of 9999 in a user's cgroup of 100, and 50"
weight users/own 25
ratio 0.48 0.52 "a weight of 25 in a user's cgroup of 100, and 50"
weight light 100
into outer/inner $one
into heavy $two

# A share that was asked for stays.
asks message $one share=512
weight outer 1200
ratio 0.16 0.18 "a share of 512 that was asked for, and a weight of 300"

# A cgroup that loses the controller no longer counts.
echo -cpu >$groups/outer/cgroup.subtree_control
echo -cpu >$groups/users/cgroup.subtree_control
into outer $two
echo -cpu >$groups/cgroup.subtree_control
ratio 0.48 0.52 "a share of 512 that was asked for, and no controller"
stop
kill -9 $hogs
for group in outer/inner outer heavy light users/own users; do within 50 rmdir $groups/$group || fail "$group does not go"; done
