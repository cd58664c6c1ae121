#!/bin/sh
# Every policy of the literature schedules threads of its own, all of them beside each other in one hierarchy, on CPUs
# that run at once, while other threads come, change and go as fast as they can, and a CPU goes and comes back: the
# kernel does not eject the engine, every scheduler gets on, and all invariants hold whenever they are looked at. Some
# of the policies let threads starve, as they should.
. /usr/kernel/lib.sh

# Prints the hierarchy: the files of /usr/kernel/literature, which has one for each policy, as subtrees of one. What
# they ask for cannot be promised below shares, which `hls run` only says.
mixed() {
	echo 'proportional-share "ALL" quantum="2ms" {'
	echo '    time-sharing "rest" share=30 default=#true'
	for file in /usr/kernel/literature/*.kdl; do
		name=$(basename "$file" .kdl)
		sed "s/^\([a-z].* \)\"[^\"]*\"/\1\"$name\" share=10 width=2/; s/thread \"/&$name /" "$file"
	done
	echo '}'
}

mixed >/tmp/mixed.kdl
ALL_POLICIES=yes
start /tmp/mixed.kdl --json --slack 1000s
churn "$MIXED" >/tmp/churned 2>&1 &
churn=$!
hotplug_until /tmp/churned >/tmp/hotplugged 2>&1 &
hotplug=$!
wait "$churn" || fail "churn: $(cat /tmp/churned)"
wait "$hotplug" || fail "hotplug: $(cat /tmp/hotplugged)"
cat /tmp/churned /tmp/hotplugged
hogs 2
hogs_get_on 2
end_hogs
stop
for policy in $(sed -n 's/^\([a-z][a-z0-9-]*\) ".*/\1/p' /usr/kernel/literature/*.kdl); do
	awk -v policy="\"$policy\"," '
		$1 == "\"policy\":" { is_it = $2 == policy }
		is_it && $1 == "\"ran_ns\":" { ran += $2 }
		END { exit !ran }' /tmp/report || fail "$policy had nothing"
done
