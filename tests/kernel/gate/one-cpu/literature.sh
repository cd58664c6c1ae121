#!/bin/sh
# Each of these policies of the literature ($LITERATURE) schedules threads for some seconds, with a whole CPU, and keeps
# its promises: one after the other in one engine, which has all policies, since the guest has neither a compiler nor a
# cache of built engines. One CPU, in exact time.
#
# The files of /usr/kernel/literature have a hierarchy each. Requests build it below a root of fixed priorities, above
# all others; its threads do there what `hls baseline` has them do. The root gives it the whole CPU: no other thread runs
# meanwhile, except the one that counts the seconds, which has a real-time class.
. /usr/kernel/lib.sh

# requests FILE: prints the requests that bring the file's hierarchy. A statement is a line that has its parameters.
requests() {
	awk '
		/^ *[}]/ { depth--; next }
		$2 !~ /^"/ { next } # a comment, or what a thread does
		{
			match($0, /"[^"]*"/)
			name = substr($0, RSTART, RLENGTH)
			parameters = substr($0, RSTART + RLENGTH)
			sub(/ *[{].*/, "", parameters)
			if ($1 == "thread")
				print "place " name " --to " above[depth] parameters
			else if (depth)
				print "asks create " $1 " " name " --below " above[depth] parameters
			else
				print "asks create " $1 " " name " --below FP priority=3" parameters
		}
		/[{][^}]*$/ { above[++depth] = name }' "$1"
}

# threads: prints the TID and the name of each thread that plays the hierarchy.
threads() {
	for task in /proc/$load/task/*; do
		[ "$task" = "/proc/$load/task/$load" ] || echo "${task##*/} $(cat "$task/comm")"
	done
}

# place NAME REQUEST...: moves the thread of this name.
place() {
	thread=$(grep " $1\$" /tmp/threads | cut -d' ' -f1)
	[ -n "$thread" ] || fail "$policy: no thread $1: $(cat /tmp/threads)"
	shift
	asks move "$thread" "$@"
}

# are_there NUMBER: whether NUMBER threads play the hierarchy.
are_there() {
	load=$(cut -d' ' -f1 "/proc/$baseline/task/$baseline/children")
	[ -n "$load" ] && threads >/tmp/threads && [ "$(wc -l </tmp/threads)" = "$1" ]
}

# begin FILE: threads play the hierarchy of the file, and stand still until the requests have placed them.
begin() {
	hls baseline --for 1h "$1" >/dev/null 2>&1 &
	baseline=$!
	within 100 are_there "$(grep -c 'thread "' "$1")" || fail "$policy: the threads are not there: $(cat /tmp/threads)"
	kill -STOP "$load"
	requests "$1" >/tmp/requests || fail "$policy: no requests"
	. /tmp/requests
}

# end: the threads end, and the schedulers go, the last first. The threads leave their schedulers before: to end, a
# killed thread has a CPU for a moment without a grant, and that is no time of its scheduler's.
end() {
	while read -r thread name; do asks move "$thread" --to rest; done </tmp/threads
	kill -9 "$baseline" "$load"
	wait "$baseline" 2>/dev/null
	within 100 gone "$load" || fail "$policy: the threads do not end"
	sed -n 's/^asks create [^ ]* "\([^"]*\)".*/\1/p' /tmp/requests | tac >/tmp/schedulers
	while read -r scheduler; do within 50 hls ctl destroy "$scheduler" >/dev/null 2>&1 || fail "$scheduler stays"; done </tmp/schedulers
}

# is_kept FILE: no promise has broken; every thread was placed, and had CPU time; what the file asks for was owed, where
# it is more than a share in the long run.
is_kept() {
	grep BROKEN /tmp/said && fail "$policy: broke its promise"
	hls ctl status --json >/tmp/status
	owed=0
	while read -r thread name; do
		[ "$(said_of "$thread" scheduler </tmp/status)" != rest ] || fail "$policy: $name has no place"
		[ "$(said_of "$thread" ran_ns </tmp/status)" -gt 0 ] || fail "$policy: $name had nothing"
		owed=$((owed + $(said_of "$thread" promised_ns </tmp/status)))
	done </tmp/threads
	[ "$owed" -gt 100000000 ] || ! grep -q 'guarantee="[AR]\|guarantee="PSBE' "$1" || fail "$policy: owed $owed ns"
	echo "$policy: owed $((owed / 1000000)) ms"
}

# schedules FILE: the file's hierarchy comes to the one that runs, schedules its threads, and goes.
schedules() {
	begin "$1"
	chrt -f 1 sh -c "kill -CONT $load; sleep 2; kill -STOP $load"
	is_kept "$1"
	end
}

export XDG_CACHE_HOME=/tmp/cache
ALL_POLICIES=yes
start /usr/kernel/stride.kdl --slack $slack
answers
for policy in $LITERATURE; do
	schedules "/usr/kernel/literature/$policy.kdl"
done
none_is_lost
stop
[ "$status" = 0 ] || fail "hls exited with $status: $(tail -n 1 /tmp/report)"
tail -n 1 /tmp/report
