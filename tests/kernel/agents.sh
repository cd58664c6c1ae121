# Functions for scripts in which agents of all kinds do harm beside a thread with a promise, in addition to lib.sh.
# They rely on that thread: its comm is `neighbour`, and $neighbour is its TID; on a scheduler USERS that the user
# `nobody` owns, and that takes children with `parameters`; on `depth`, the number of nested schedulers there; on
# `seconds`, for which the neighbour is watched, in windows of `window` ms; and on the command most_delayed, which
# prints the most CPU time in us that the hogs may have before killed processes have gone.

has() { ! has_no "$1"; }

# below DEPTH: nests schedulers, so that the next one, below `above` with `with`, is at that depth.
below() {
	above=USERS with=$parameters
	for level in $(seq 2 "$1"); do
		as_nobody "exec hls ctl promote L$level --below $above $with -- chooser" >/tmp/chooser 2>&1 &
		within 100 has L$level || fail "L$level is not there: $(cat /tmp/chooser; hls ctl status)"
		above=L$level with=width=1
	done
}

# The agent and its three workers, when all are granted: then `agent` and `worker1` to `worker3` are their TIDs.
begin_agent() {
	below "$depth"
	>/tmp/agent
	as_nobody "exec composite $kind U $above $(echo $with | tr = ' ')" >/tmp/agent 2>&1 &
	within 100 test -s /tmp/agent
	read -r agent worker1 worker2 worker3 </tmp/agent && [ -n "$worker3" ] ||
		fail "$kind: the workers are not granted: $(cat /tmp/agent; hls ctl status)"
}

# All processes of the user are killed, and their schedulers go; `ended` and `delayed` are in us.
end_agent() {
	chrt -f 50 warden end 65534 $hogs >/tmp/ended || fail "$kind: the processes are not ended"
	read -r ended delayed </tmp/ended
	for scheduler in U $(seq 2 "$depth" | sed s/^/L/); do
		within 50 has_no $scheduler || fail "$kind: $scheduler stays: $(hls ctl status)"
	done
}

# Whether hls has lost records, as it does under PREEMPT_RT beside kills: then it cannot know that a promise broke, and
# says so.
may_be_kept() { grep "BROKEN: neighbour" /tmp/said | tail -n 1 | grep -q "so it may have been kept" && echo "NOT JUDGED: $kind: records were lost"; }

# beside KIND LEAST SLOT...: beside an agent of this kind the neighbour must have LEAST ms, and the threads in the slots
# some CPU time.
beside() {
	kind=$1 least=$2
	shift 2
	begin_agent
	chrt -f 50 warden watch "$seconds" "$window" "$neighbour" "$worker1" "$worker2" "$worker3" >/tmp/watched ||
		fail "$kind: warden watch"
	read -r worst had had1 had2 had3 </tmp/watched
	runs "beside an agent: $kind"
	[ "$kind" != traced ] || grep -q '^TracerPid:.[1-9]' "/proc/$agent/status" || fail "nobody traces the agent"
	hls ctl status >/tmp/status
	end_agent
	echo "$kind, $depth deep: the neighbour had $had ms, at least $worst us in any $window ms; workers $had1, $had2" \
		"and $had3 ms; killed within $ended us, of which others had $delayed us; $(grep '^U has' /tmp/status)"
	[ "$had" -ge "$least" ] || broke "$kind: the neighbour had $had ms"
	[ "$(of "$neighbour" broken)" = 0 ] || may_be_kept || broke "$kind: a promise broke"
	for slot in "$@"; do
		eval "[ \$had$slot -gt 40 ]" || fail "$kind: worker $slot had next to nothing"
	done
	[ "$delayed" -le "$(most_delayed)" ] || broke "$kind: others had $delayed us before the killed processes had gone"
}
