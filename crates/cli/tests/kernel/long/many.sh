#!/bin/sh
# 1,000 threads of one process, in several schedulers, and all of them get on.
. /usr/kernel/lib.sh

start /usr/kernel/many.kdl --json
sleep 5
runs "1,000 threads"
none_is_lost
stop
grep -o '"wakeups":[0-9]*' /tmp/report | head -n 5
