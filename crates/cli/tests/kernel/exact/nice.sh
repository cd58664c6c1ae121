#!/bin/sh
# A thread that nobody placed has the share of its nice value. One CPU, whose time is exact.
. /usr/kernel/lib.sh

start /usr/kernel/plain.kdl --slack 500us
answers
hogs 2
common=${hogs% *} nicer=${hogs##* }
renice -n 5 -p "$nicer" >/dev/null
sleep 0.5
had >/tmp/had
sleep 4
# By the table of Linux, as cgroups count: 100 for nice 0, 33 for nice 5.
had | paste -d' ' - /tmp/had >/tmp/both
awk '{ got[NR] = $1 - $2 } END { exit !(got[1] > 2.9 * got[2] && got[1] < 3.2 * got[2]) }' /tmp/both ||
	fail "nice 0 and nice 5 had, now and before, $(cat /tmp/both)"
end_hogs
stop
