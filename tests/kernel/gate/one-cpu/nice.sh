#!/bin/sh
# A thread that nobody placed has the share of its nice value. One CPU, in exact time.
. /usr/kernel/lib.sh

# share_as NICE NICE LEAST MOST: two hogs of these nice values; the first must have between LEAST and MOST times as much
# CPU time as the second.
share_as() {
	hogs 2
	renice -n "$1" -p ${hogs% *} >/dev/null
	renice -n "$2" -p ${hogs##* } >/dev/null
	ratio "$3" "$4" "nice $1 and nice $2"
	end_hogs
}

start /usr/kernel/plain.kdl --slack $slack
answers
# The weights of the fair class: 1024 for nice 0, 335 for nice 5, 36 for nice 15, 15 for nice 19.
share_as 0 5 2.9 3.2
share_as 15 19 2.3 2.5
stop
