#!/bin/sh
# Storms of threads that come, change and go, while a hog in each scheduler must get on; all invariants hold throughout.
. /usr/kernel/lib.sh

storm() { stress-ng --timeout "$STORM" --oomable "$@" >/tmp/stress 2>&1 || fail "$(cat /tmp/stress)"; }

start /usr/kernel/half.kdl
hogs 1
named_hogs shared reserved
hogs_get_on 2

storm --fork 4 --clone 2 --clone-max 50
runs "fork and clone"
storm --exec 2 --vfork 2
runs "exec"
hogs_get_on 1
storm --affinity 3 --schedpolicy 2
runs "affinity and policies"
storm --yield 2 --futex 2 --switch 2
runs "yield, futex and switch"
hogs_get_on 1

# nice, chrt and taskset change hogs that are runnable all the time.
for round in 1 2 3; do
	for pid in $hogs; do
		renice -n $((round % 20)) -p "$pid" >/dev/null
		taskset -p $((1 + round % 3)) "$pid" >/dev/null
		chrt -b -p 0 "$pid"
		chrt -o -p 0 "$pid"
	done
done
for pid in $hogs; do taskset -p 3 "$pid" >/dev/null; done
runs "nice, chrt and taskset"
hogs_get_on 2

end_hogs
none_is_lost
stop
