#!/bin/sh
# A hog of a real-time class, and hogs that become one and cease to be.
. /usr/kernel/lib.sh

start /usr/kernel/half.kdl
hogs 3
# A hog of a real-time class takes CPU 0 from everybody, by right; who may use CPU 1 gets on there.
taskset 1 chrt -f 10 sh -c 'while :; do :; done' &
fifo=$!
hogs_get_on 3
kill "$fifo"
runs "SCHED_FIFO"
hogs_get_on 1
for pid in $hogs; do
	chrt -f -p 1 "$pid"
	chrt -o -p 0 "$pid"
done
runs "SCHED_FIFO and back"
hogs_get_on 2
end_hogs
none_is_lost
stop
