#!/bin/sh
# Agents that do as they should, and agents that do not, in a storm on CPUs that run at once: schedulers are promoted,
# threads granted and revoked, agents killed, schedulers demoted, all in any order, while a CPU goes and comes back. The
# kernel does not eject the engine, killed processes end, every thread is in the hierarchy and gets on, nothing stays
# behind, and all invariants hold whenever they are looked at.
. /usr/kernel/lib.sh

# below NAME PARENT PARAMETER VALUE...: one agent after the other promotes the scheduler, until the storm is over.
below() {
	name=$1 rounds=0 state=$(printf %d "'$name")
	shift
	sleep 100000 &
	thread=$!
	until [ -s /tmp/over ]; do
		for kind in none good garbage loop storm unmap crash stop exec fork takeover kills; do
			[ -s /tmp/over ] && break
			round "$@"
			rounds=$((rounds + 1))
		done
	done
	kill "$thread"
	echo "$name: $rounds agents"
}

# round PARENT PARAMETER VALUE...: an agent of this kind, for a while.
round() {
	>"/tmp/agent-$name"
	as_nobody "exec composite $kind $name $*" >"/tmp/agent-$name" 2>&1 &
	within 200 test -s "/tmp/agent-$name" && read -r agent _ _ worker <"/tmp/agent-$name" && [ -n "$worker" ] ||
		fail "$name, $kind: the workers are not granted: $(cat "/tmp/agent-$name")"
	asks grant "$name" "$thread"
	sleep "0.$(any 8)"
	case $(any 3) in
	0) kill -9 "$agent" 2>/dev/null ;;
	1) asks demote "$name" ;;
	2) asks revoke "$thread" ;;
	esac
	sleep "0.$(any 4)"
	kill -9 "-$agent" || fail "$name, $kind: nobody is left of $(cat "/tmp/agent-$name")"
	within 20 has_ended "$agent" || fail "$name, $kind: killed processes live on: $(ps)"
	hls ctl revoke "$thread" 2>/dev/null
	within 100 has_no "$name" || fail "$name, $kind: the scheduler stays: $(hls ctl status | tail -n 5)"
}

# any NUMBER: prints a number below this one, of a sequence that is the same in each run.
any() {
	state=$(((state * 1103515245 + 12345) % 2147483648))
	echo $((state / 65536 % $1))
}

# has_ended GROUP: whether all processes of the group have.
has_ended() { ! kill -0 "-$1" 2>/dev/null; }

# still TEXT: whether the kernel has as many BPF programs, maps and links as the text says.
still() { [ "$(in_kernel)" = "$1" ]; }

as_nobody true
start /usr/kernel/agents.kdl --slack 100ms
answers
named_hogs neighbour
neighbour=$hogs
before=$(in_kernel)
below A ONE width 1 priority 1 >/tmp/storm1 2>&1 &
storms=$!
below B TWO width 2 share 1 >/tmp/storm2 2>&1 &
storms="$storms $!"
below C TWO width 2 share 1 >/tmp/storm3 2>&1 &
storms="$storms $!"
hotplug_until /tmp/over >/tmp/hotplugged 2>&1 &
hotplug=$!
{ sleep "$AGENTS" && echo >/tmp/over; } &
chrt -f 1 census "$run" "$hls" $((AGENTS + 15)) >/tmp/counted 2>&1 || fail "the census: $(cat /tmp/counted /tmp/storm?)"
for storm in $storms; do wait "$storm" || fail "the storm: $(cat /tmp/storm?)"; done
wait "$hotplug" || fail "hotplug: $(cat /tmp/hotplugged)"
cat /tmp/counted /tmp/storm? /tmp/hotplugged
within 100 still "$before" || fail "there were $before, there are $(in_kernel)"
hogs 2
hogs="$hogs $neighbour"
hogs_get_on 2
end_hogs
none_is_lost
stop
