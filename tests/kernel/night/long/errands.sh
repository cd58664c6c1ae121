#!/bin/sh
# Threads change their class, their affinity and their nice value all the time, sleep, are killed and end while they are
# of another class, and the last CPU comes and goes, below schedulers of several policies: what the engine leaves to
# timers is done, and about the right threads; no thread is lost or left over, and all invariants hold throughout.
# Engine: bvt
# Engine: bvt eevdf lottery
. /usr/kernel/lib.sh

cat >/tmp/several.kdl <<'EOF'
proportional-share "ALL" quantum="2ms" {
    time-sharing "rest" share=60 default=#true
    round-robin "R" share=10 { thread "robin" instances=64 comm="robin*"; }
    bvt "B" share=10 { thread "bvt" instances=64 share=1 comm="bvt*"; }
    eevdf "E" share=10 width=1 { thread "eevdf" instances=64 share=1 comm="eevdf*"; }
    lottery "L" share=10 { thread "lottery" instances=64 share=1 comm="lottery*"; }
}
EOF

# The last CPU goes and comes back, at once or after a while, until there is something in the file.
goes_and_comes_until() {
	last=$(($(nproc) - 1)) went=0
	until [ -s "$1" ]; do
		echo 0 >/sys/devices/system/cpu/cpu$last/online || fail "CPU $last does not go"
		usleep $((went * 79190 % 300000))
		echo 1 >/sys/devices/system/cpu/cpu$last/online || fail "CPU $last does not come back"
		usleep $((went * 61010 % 200000))
		went=$((went + 1))
	done
	echo "a CPU went and came back $went times"
}

# storms FILE NAME...: a storm below the hierarchy of the file, about threads of these names.
storms() {
	start "$1" --slack 1000s
	shift
	rm -f /tmp/stormed
	hogs 2
	storm "$STORM" "$@" >/tmp/stormed 2>&1 &
	storm=$!
	goes_and_comes_until /tmp/stormed >/tmp/hotplugged 2>&1 &
	hotplug=$!
	# Longer than the storm: what is lost, left over or undone at its end is seen ten seconds later.
	chrt -f 20 census "$run" "$hls" $((STORM + 20)) >/tmp/counted 2>&1 ||
		fail "the census: $(cat /tmp/counted /tmp/stormed /tmp/hotplugged)"
	wait "$storm" || fail "storm: $(cat /tmp/stormed)"
	wait "$hotplug" || fail "hotplug: $(cat /tmp/hotplugged)"
	cat /tmp/counted /tmp/stormed /tmp/hotplugged
	hogs_get_on 5
	end_hogs
	none_is_lost
	stop
}

storms /usr/kernel/any.kdl one other
storms /usr/kernel/churn.kdl reserved other
storms /tmp/several.kdl robin bvt eevdf lottery
