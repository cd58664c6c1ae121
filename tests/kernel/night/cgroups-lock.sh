#!/bin/sh
# Suspended threads have lost the CPU while they made and removed cgroups, some of them with a lock that several threads
# read: root, which does the same, does not wait until they starve. One CPU, in exact time.
# Engine: user-level
UNCHECKED=yes
. /usr/kernel/lib.sh

start /usr/kernel/holders.kdl --slack $slack
answers
groups=/sys/fs/cgroup/locked
mkdir $groups
as_nobody true
chown nobody $groups
: >/tmp/go
for _ in $(seq 12); do as_nobody "exec attacker folders $groups" & done
sleep 2
for attacker in $(pidof attacker); do asks suspend "$attacker"; done
for _ in $(seq 20); do
	asker 4 folders $groups >/tmp/asked || fail "root could make no cgroup: $(cat /tmp/asked)"
	echo "root had $(cat /tmp/asked)"
	[ "$(us_at_worst)" -lt 500000 ] || fail "root had $(cat /tmp/asked)"
done
end_attack
find $groups -depth -type d -exec rmdir {} +
stop
