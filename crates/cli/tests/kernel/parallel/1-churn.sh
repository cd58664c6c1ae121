#!/bin/sh
# Threads and processes come, change and go as fast as they can, on CPUs that run at once, while requests change the
# hierarchy: the kernel does not eject the engine, every thread is in the hierarchy and gets on, and all invariants hold
# whenever they are looked at.
. /usr/kernel/lib.sh

# Requests, again and again until the churn ends, about a thread and a scheduler that comes and goes.
requests() {
	until [ -s /tmp/churned ]; do
		asks reserve "$thread" "RESBH 10ms 100ms"
		asks create proportional-share GROUP --below RES guarantee="RESBH 10ms 100ms" width=1
		asks move "$thread" --to GROUP share=1
		asks message "$thread" share=2
		asks status
		asks release "$thread"
		asks destroy GROUP
		granted=$((granted + 7))
		sleep 2
	done
	echo "$granted requests were granted"
}

start /usr/kernel/churn.kdl --slack 100ms
answers
sleep 100000 &
thread=$! granted=0
churn "$CHURN" >/tmp/churned 2>&1 &
churn=$!
# Beside the census, which nothing holds up: a thread that is lost may be one of these.
requests >/tmp/requested 2>&1 &
requests=$!
# Longer than the churn: a thread that is lost at its end is seen ten seconds later.
chrt -f 1 census "$run" "$hls" $((CHURN + 15)) >/tmp/counted 2>&1 || fail "the census: $(cat /tmp/counted /tmp/requested)"
wait "$churn" || fail "churn: $(cat /tmp/churned)"
wait "$requests" || fail "requests: $(cat /tmp/requested)"
cat /tmp/counted /tmp/churned /tmp/requested
hogs 2
hogs_get_on 2
end_hogs
none_is_lost
stop
