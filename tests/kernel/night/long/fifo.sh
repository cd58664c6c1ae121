#!/bin/sh
# A hog of a real-time class, and hogs that change to a real-time class and back.
. /usr/kernel/lib.sh

start /usr/kernel/half.kdl
hogs 3
# A hog of a real-time class takes CPU 0 from all other threads, as it may; threads that may use CPU 1 get on there.
taskset 1 chrt -f 10 hog &
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
