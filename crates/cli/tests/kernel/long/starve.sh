#!/bin/sh
# Threads that the hierarchy lets starve get a moment every few seconds: the machine goes on, and nobody is put out.
. /usr/kernel/lib.sh

start /usr/kernel/starve.kdl
named_hogs shared shared shared shared
for _ in 1 2 3; do
	sh -c "while :; do :; done" &
	starved="${starved-} $!"
done
# This shell starves as well.
for round in 1 2 3; do
	sleep 15
	runs "round $round"
done
kill $hogs
for pid in $starved; do
	had=$(cut -d' ' -f1 "/proc/$pid/schedstat")
	[ "$had" -lt 500000000 ] || fail "a starved thread has had $had ns"
	kill "$pid"
done
wait $hogs $starved 2>/dev/null
none_is_lost
stop
