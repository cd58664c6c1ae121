#!/bin/sh
# Threads and processes come, change and go as fast as they can, on several CPUs, while requests change the
# hierarchy, policies are loaded, cgroups get weights, and a CPU goes and comes back: the kernel does not eject the
# engine, every thread is in the hierarchy and gets on, and all invariants hold whenever they are looked at.
# Engine: bvt
# Engine: asked_times.c bvt
. /usr/kernel/lib.sh
. /usr/kernel/policies.sh

# Requests, again and again until the churn ends, about a thread and a scheduler that comes and goes, each time with
# another policy.
requests() {
	set -- proportional-share bvt
	until [ -s /tmp/churned ]; do
		policy=$1
		shift
		set -- "$@" "$policy"
		asks reserve "$thread" "RESBH 10ms 100ms"
		asks create "$policy" GROUP --below RES guarantee="RESBH 10ms 100ms" width=1
		asks move "$thread" --to GROUP share=1
		asks message "$thread" share=2
		asks status
		asks release "$thread"
		asks destroy GROUP
		granted=$((granted + 7))
		sleep 2
	done
	echo "$granted requests were granted"
}

loader() { hls "$@" >/tmp/load 2>&1 || fail "hls $*: $(cat /tmp/load)"; }

# A policy is loaded, used, and unloaded.
loads() {
	until [ -s /tmp/churned ]; do
		loader load /usr/policies/asked_times.c
		loader ctl create asked-times A --below RES guarantee="RESBH 20ms 200ms" slot=1ms
		loader ctl destroy A
		loader unload asked-times
		loaded=$((loaded + 1))
		sleep 2
	done
	echo "a policy was loaded $loaded times"
}

# All processes of the churn move to a cgroup inside another, and back. Both cgroups have one weight after the other
# meanwhile, and go then.
weights() {
	root=/sys/fs/cgroup outer=/sys/fs/cgroup/outer inner=/sys/fs/cgroup/outer/inner
	until [ -s /tmp/churned ]; do
		mkdir $outer $inner || fail "there is a cgroup still"
		echo +cpu >$root/cgroup.subtree_control && echo +cpu >$outer/cgroup.subtree_control ||
			fail "cgroups cannot have weights"
		within 100 is_in || fail "the churn does not come into the cgroup: $(cat $inner/cgroup.procs)"
		for weight in 1 10000 50 300; do
			echo $weight >$outer/cpu.weight
			echo $weight >$inner/cpu.weight
			sleep 0.2
		done
		within 100 is_left || fail "not all threads leave the cgroup"
		echo -cpu >$outer/cgroup.subtree_control && echo -cpu >$root/cgroup.subtree_control
		within 50 rmdir $inner && rmdir $outer || fail "the cgroups do not go"
		weighed=$((weighed + 8))
	done
	echo "$weighed weights were set"
}

# Moves the churn's first process and its seven children into the inner cgroup; whether they are there then, or at their
# end. What they fork comes along.
is_in() {
	for pid in $churn $(cat /proc/$churn/task/$churn/children); do echo "$pid" >$inner/cgroup.procs; done 2>/dev/null
	[ "$(wc -l <$inner/cgroup.procs)" -ge 8 ] || [ -s /tmp/churned ]
}

# Moves all threads out of the inner cgroup; whether there are none then. A process may end, or fork, meanwhile.
is_left() {
	for pid in $(cat $inner/cgroup.procs); do echo "$pid" >$root/cgroup.procs; done 2>/dev/null
	[ -z "$(cat $inner/cgroup.procs)" ]
}

start /usr/kernel/churn.kdl --slack 100ms
answers
sleep 100000 &
thread=$! granted=0 loaded=0 weighed=0
churn "$CHURN" >/tmp/churned 2>&1 &
churn=$!
# Beside the census, which nothing holds up: a thread that is lost may be one of these.
requests >/tmp/requested 2>&1 &
requests=$!
hotplug_until /tmp/churned >/tmp/hotplugged 2>&1 &
hotplug=$!
loads >/tmp/loaded 2>&1 &
loads=$!
weights >/tmp/weighed 2>&1 &
weights=$!
# Longer than the churn: a thread that is lost at its end is seen ten seconds later.
chrt -f 1 census "$run" "$hls" $((CHURN + 15)) >/tmp/counted 2>&1 ||
	fail "the census: $(cat /tmp/counted /tmp/requested /tmp/hotplugged /tmp/loaded /tmp/weighed)"
wait "$churn" || fail "churn: $(cat /tmp/churned)"
wait "$requests" || fail "requests: $(cat /tmp/requested)"
wait "$hotplug" || fail "hotplug: $(cat /tmp/hotplugged)"
wait "$loads" || fail "loads: $(cat /tmp/loaded)"
wait "$weights" || fail "weights: $(cat /tmp/weighed)"
cat /tmp/counted /tmp/churned /tmp/requested /tmp/hotplugged /tmp/loaded /tmp/weighed
hogs 2
hogs_get_on 2
end_hogs
none_is_lost
stop
