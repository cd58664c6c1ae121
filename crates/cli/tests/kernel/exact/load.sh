#!/bin/sh
# A file that loads a policy runs: also the budgets that the machine can enforce are measured by an engine that other
# processes have loaded. One CPU, whose time is exact.
. /usr/kernel/lib.sh
. /usr/kernel/policies.sh

{
	echo 'load "/usr/policies/asked_times.c"'
	cat /usr/kernel/plain.kdl
} >/tmp/loaded.kdl
start /tmp/loaded.kdl
answers
sleep 2
stop
