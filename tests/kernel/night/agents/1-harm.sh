#!/bin/sh
# Agents that do as they should, and agents that do not, in a storm on CPUs that run at once: schedulers are promoted,
# threads granted and revoked, agents killed, schedulers demoted, all in any order, while a CPU goes and comes back. The
# kernel does not eject the engine, killed processes end, every thread is in the hierarchy and gets on, nothing stays
# behind, and all invariants hold whenever they are looked at.
# Engine: user-level
. /usr/kernel/lib.sh

# storm NAME PARENT PARAMETER VALUE...: a user's agents of all kinds, which promote the scheduler one after the other.
storm() { as_nobody "composite all $*" >"/tmp/storm-$1" 2>&1; }

as_nobody true
start /usr/kernel/agents.kdl --slack 100ms
answers
named_hogs neighbour
neighbour=$hogs
count
one="width 1 priority 1" two="width 2 share 1"
for scheduler in "A ONE $one" "B ONE $one" "C TWO $two" "D TWO $two"; do
	storm $scheduler &
	storms="${storms-} $!"
done
hotplug_until /tmp/over >/tmp/hotplugged 2>&1 &
hotplug=$!
{ sleep "$AGENTS" && echo >/tmp/over; } &
chrt -f 1 census "$run" "$hls" $((AGENTS + 15)) >/tmp/counted 2>&1 ||
	fail "the census: $(cat /tmp/counted /tmp/storm-?)"
for process in $storms; do wait "$process" || fail "the storm: $(cat /tmp/storm-?)"; done
wait "$hotplug" || fail "hotplug: $(cat /tmp/hotplugged)"
cat /tmp/counted /tmp/storm-? /tmp/hotplugged
for name in A B C D; do within 100 has_no $name || fail "$name stays: $(hls ctl status | tail -n 5)"; done
within 100 still "$before" || fail "there were $before, there are $(in_kernel)"
hogs 2
hogs="$hogs $neighbour"
hogs_get_on 2
end_hogs
none_is_lost
stop
