#!/bin/sh
# Schedulers that are processes: promoted by `hls ctl`, by a program and by the hierarchy file; threads that are granted
# and revoked; agents that are killed and replaced; users without rights. Two CPUs.
# Engine: user-level
. /usr/kernel/lib.sh

# decides NAME: whether a decision of the scheduler's process was followed.
decides() { hls ctl status | grep -q "^$1 has followed [1-9]"; }

# goes NAME: the scheduler must go, though nobody asks for that.
goes() { within 50 has_no "$1" || fail "$1 stays: $(hls ctl status)"; }

# has_more FIRST SECOND: soon the second thread must have next to nothing until the first has had 300 ms. Not at once:
# a process decides a moment after a request was granted, or after it took a scheduler over.
has_more() {
	for _ in 1 2 3; do
		before1=$(ran "$1") before2=$(ran "$2")
		within 100 has_had "$1" $((before1 + 300)) || fail "$1 had $(($(ran "$1") - before1)) ms"
		had1=$(($(ran "$1") - before1)) had2=$(($(ran "$2") - before2))
		[ "$had2" -ge $((had1 / 10)) ] || return 0
	done
	fail "$1 had $had1 ms and $2 had $had2 ms"
}

# has_had THREAD MS: whether the thread has had MS of CPU time.
has_had() { [ "$(ran "$1")" -ge "$2" ]; }

refuses() {
	reason=$1
	shift
	hls ctl "$@" >/dev/null 2>/tmp/said2 && fail "hls ctl $*: was granted"
	grep -q "$reason" /tmp/said2 || fail "hls ctl $*: does not say '$reason', but: $(cat /tmp/said2)"
}

# nobody_asks REQUEST...: a user without rights makes a request, which must be granted. It is made again where hls says
# so, in the pause that follows a costly request.
nobody_asks() {
	within 3 as_nobody "hls ctl $* >/dev/null 2>/tmp/refused" || fail "nobody may not $*: $(cat /tmp/refused)"
}

as_nobody true
start /usr/kernel/promote.kdl --timeline /tmp/picture --window 0s..600s
answers
named_hogs worker
worker=${hogs##* }
moves "$worker" OWN
has_started chooser
own=$agent
moves "$own" OWN
within 100 decides OWN || fail "no decision is followed in OWN: $(hls ctl status)"

# Promoted by a command, with one VP: the thread in the least slot has it.
hogs 2
one=$(echo $hogs | cut -d" " -f1) two=${hogs##* }
hls ctl promote U --below PS width=1 share=4 -- chooser &
agent=$!
moves "$agent" U
asks grant U "$one" slot=2
asks grant U "$two" slot=1
refuses "slot 1 of .U. taken" grant U "$worker" slot=1
has_more "$two" "$one"
asks revoke "$two"
moves "$two" PS
asks grant U "$two" slot=5
has_more "$one" "$two"
asks suspend "$one" --by PS
has_more "$two" "$one"
asks resume "$one"
has_more "$one" "$two"
hls ctl status | grep "^U has followed" || fail "no decisions: $(hls ctl status)"

# Without an agent urgencies decide; another process takes over.
kill -9 "$agent"
within 50 gone "$agent" || fail "the agent does not end"
asks grant U "$two" slot=5 urgency=9
has_more "$two" "$one"
chooser take U &
agent=$!
moves "$agent" U
has_more "$one" "$two"
asks demote U
wait "$agent" || fail "the agent has not noticed: $?"
moves "$one" PS
goes U

# A scheduler goes with its last thread, whatever that was.
chooser promote P PS &
agent=$!
moves "$agent" P
kill -9 "$agent"
goes P

# A user promotes below a scheduler that the user owns, and not elsewhere, and grants no threads of others.
as_nobody 'echo $$; exec hog' >/tmp/hog &
as_nobody "exec hls ctl promote N --below PS width=1 -- chooser" &
within 100 sh -c "hls ctl status | grep -q ' N  *user-level'" || fail "nobody may not promote: $(hls ctl status)"
hogs=$(cat /tmp/hog)
nobody_asks grant N "$hogs"
hogs_get_on 1
as_nobody "hls ctl grant N $one" 2>/tmp/said2 && fail "nobody grants a thread of root's"
as_nobody "hls ctl demote OWN" 2>/tmp/said2 && fail "nobody ends what the file promises"
as_nobody "hls ctl promote M --below ALL share=3 -- chooser" 2>/tmp/said2 && fail "nobody promotes anywhere"
nobody_asks demote N
kill "$hogs"

# A process of another user holds pages that were passed on to it, and that the scheduler no longer has.
goes N
holder U PS width 1 >/tmp/held 2>&1 || fail "the holder of pages: $(cat /tmp/held)"
cat /tmp/held
goes U
hogs="$worker $one $two"
hogs_get_on 2
end_hogs
end_agent "$own"
none_is_lost
stop
grep -q "OWN-agent" /tmp/report || fail "the report has no agent"
# The picture has those that came by a request, and shows a parked agent as parked.
for name in U N "$one " "$two "; do
	grep -q "class=\"[a-z]*\".*>$name" /tmp/picture || fail "the picture has no '$name': $(grep -o '>[^<]*</text>' /tmp/picture)"
done
grep -q ">parked, held<" /tmp/picture || fail "the picture has no parked agent"

# Agents end with the hierarchy, also where that is killed: they would yield to nobody for ever.
start /usr/kernel/promote.kdl
answers
has_started chooser
of_file=$agent
hls ctl promote U --below PS width=1 -- chooser &
agent=$!
moves "$agent" U
kill -9 "$run"
wait "$hls"
within 50 is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state) after the run was killed"
for pid in $of_file $agent; do within 100 has_ended "$pid" || fail "agent $pid goes on without a hierarchy"; done
