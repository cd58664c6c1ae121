#!/bin/sh
# Promises that requests bring are kept, and stolen time breaks none. One CPU, in exact time.
. /usr/kernel/lib.sh

# keeps THREAD LEAST: the thread must have been owed LEAST ns or more, and have had what it was owed; no promise to it
# may have broken.
keeps() {
	owed=$(of "$1" promised_ns) had=$(of "$1" ran_ns) broken=$(of "$1" broken)
	[ "$owed" -ge "$2" ] || fail "thread $1 was owed $owed ns, expected $2"
	[ "$had" -ge "$owed" ] || fail "thread $1 was owed $owed ns, and had $had"
	[ "$broken" = 0 ] || fail "a promise to thread $1 broke"
}

# A budget that the timers cannot enforce is refused, in the file and in a request, with what they can.
echo 'reservation "RES" { thread "small" guarantee="RESBH 10us 500us"; }' >/tmp/small.kdl
hls run --engine kernel /tmp/small.kdl --for 1s >/tmp/report 2>/tmp/said
[ $? = 2 ] || fail "hls exited with $? for a budget of 10us"
grep -q 'small.kdl:1:.*the budget of `small`: found 10us, expected [0-9.]*us at least' /tmp/said || fail "hls names no budget"

start /usr/kernel/ctl.kdl --slack $slack
answers
hogs 2
one=$(echo $hogs | cut -d" " -f1) other=${hogs##* }
hls ctl reserve "$one" "RESBH 10us 20ms" 2>/tmp/said2 && fail "a budget of 10us was granted"
grep -q 'found 10us, expected [0-9.]*us at least' /tmp/said2 || fail "hls names no budget in a request"
asks reserve "$one" "RESBH 4ms 20ms"
asks create proportional-share GROUP --below RES guarantee="RESBH 5ms 20ms"
asks move "$other" --to GROUP share=1
sleep 1
keeps "$one" 180000000
keeps "$other" 200000000

# A hog of a real-time class takes the CPU, as it may: the time that it steals breaks no promise.
chrt -f 20 timeout 0.2 chrt -f 10 hog
sleep 0.5
for thread in $one $other; do
	[ "$(of "$thread" broken)" = 0 ] || fail "stolen time broke a promise to $thread"
	[ "$(of "$thread" stolen_ns)" -gt 150000000 ] || fail "$(of "$thread" stolen_ns) ns were stolen, expected 150 ms"
done

# With another promise the counts begin anew. CPU time between the end of the promise and the moment at which hls
# notices that end does not count against the upper limit.
asks release "$one"
asks reserve "$one" "RESBH 10ms 20ms"
sleep 0.5
keeps "$one" 200000000

# While hls stands still and threads switch all the time, records are lost. No promise is judged over that time, and all
# are after it.
herd 1 idle >/tmp/herd &
herd=$!
within 50 grep -q ready /tmp/herd || fail "the herd is not ready"
for thread in $(ls "/proc/$herd/task"); do asks reserve "$thread" "RESBH 1ms 20ms"; done
kill -STOP "$run"
sleep 3
kill -CONT "$run"
within 50 grep -q "records were lost" /tmp/said || fail "no records were lost in 3 s"
kill "$herd"
keeps "$one" 200000000
before=$(of "$one" promised_ns)
sleep 0.5
keeps "$one" $((before + 200000000))
end_hogs
stop
[ "$status" = 0 ] || fail "hls exited with $status"
grep -q "^  $one .*RES .*RESBH 4ms 20ms" /tmp/report || fail "the report does not tell of stolen time"
