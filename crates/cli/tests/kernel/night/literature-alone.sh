#!/bin/sh
# Each policy of the literature schedules a machine for some seconds, and keeps its promises. One CPU, whose time is
# exact. Engines have all policies, since there is neither a compiler nor a cache of what one has built.
. /usr/kernel/lib.sh
export XDG_CACHE_HOME=/tmp/cache

for file in /usr/kernel/literature/*.kdl; do
	hls run --engine kernel --paranoid --slack 500us --for 3s "$file" >/tmp/report 2>/tmp/said
	[ $? = 0 ] || fail "$file: hls exited with $?"
	grep -q 'each of the [1-9][0-9]* times they were checked' /tmp/said || fail "the invariants were never checked"
	echo "$(basename "$file" .kdl): $(tail -n 1 /tmp/report)"
done
