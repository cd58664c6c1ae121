#!/bin/sh
# A client is killed in the middle of each request, at many moments: the hierarchy goes on, no thread is lost, and the
# next client is answered.
. /usr/kernel/lib.sh

start /usr/kernel/ctl.kdl
answers
hogs 3
thread=${hogs##* }

# killed MICROSECONDS REQUEST...: makes the request by a client that is killed MICROSECONDS later.
killed() {
	moment=$1
	shift
	hls ctl "$@" >/dev/null 2>&1 &
	client=$!
	usleep "$moment"
	kill -9 "$client" 2>/dev/null
	wait "$client" 2>/dev/null
}

for moment in $(seq 1000 7000 200000); do
	killed "$moment" create proportional-share GROUP --below RES guarantee="RESBH 5ms 20ms"
	killed "$moment" move "$thread" --to GROUP share=1
	killed "$moment" reserve "$thread" "RESBH 4ms 20ms"
	killed "$moment" message "$thread" budget=3ms
	killed "$moment" status
	killed "$moment" release "$thread"
	killed "$moment" destroy GROUP
	hls ctl status >/tmp/granted 2>/tmp/said2 || fail "after $moment us hls does not answer"
done
runs "clients that were killed"

# Whichever requests were carried out, they can be undone, and made again.
asks release "$thread"
hls ctl destroy GROUP >/dev/null 2>&1
asks create proportional-share GROUP --below RES guarantee="RESBH 5ms 20ms"
asks move "$thread" --to GROUP share=1
asks reserve "$thread" "RESBH 4ms 20ms"
asks release "$thread"
asks destroy GROUP
hogs_get_on 2
end_hogs
none_is_lost
stop
