#!/bin/sh
# The machine sleeps, its clock wakes it, and it is scheduled as before.
. /usr/kernel/lib.sh

sleep_and_wake_up() {
	echo 0 >/sys/class/rtc/rtc0/wakealarm
	echo +3 >/sys/class/rtc/rtc0/wakealarm || fail "the clock cannot be set to wake the machine"
	echo mem >/sys/power/state || fail "the machine does not sleep"
}

start /usr/kernel/half.kdl
hogs 2
named_hogs shared reserved
hogs_get_on 1
for round in 1 2 3; do
	sleep_and_wake_up
	runs "after sleep $round"
	hogs_get_on 2
done
dmesg | grep -q 'PM: suspend exit' || fail "it never slept"
end_hogs
none_is_lost
stop
