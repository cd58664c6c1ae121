#!/bin/sh
# Threads that the hierarchy lets starve get a moment every few seconds: the machine goes on, and the kernel does not
# end the run.
. /usr/kernel/lib.sh

# Seconds since the machine was started.
now() { cut -d. -f1 /proc/uptime; }

start /usr/kernel/starve.kdl
begun=$(now)
named_hogs shared shared shared shared
for _ in 1 2 3; do
	hog &
	starved="${starved-} $!"
done
# This shell starves as well. Longer than 30 s, after which the kernel would end the run.
sleep 40
runs "after 40 s"
kill $hogs
for pid in $starved; do
	had=$(cut -d' ' -f1 "/proc/$pid/schedstat")
	[ "$had" -gt 0 ] || fail "a starved thread has had nothing"
	[ "$had" -lt $((($(now) - begun) * 50000000)) ] || broke "a starved thread has had $had ns since $begun s"
	kill "$pid"
done
wait $hogs $starved 2>/dev/null
none_is_lost
stop
