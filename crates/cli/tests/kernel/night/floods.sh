#!/bin/sh
# Users without rights do all that they can at once, for minutes: a promise is kept, root has its answers, and hls takes
# little of a CPU. Two CPUs that run at once.
UNCHECKED=yes
. /usr/kernel/lib.sh

attack() { as_nobody "exec chrt -o 0 $1" >>/tmp/attack 2>&1 & }

own=/sys/fs/cgroup/nobody
echo 60000 >/proc/sys/kernel/threads-max
mkdir -p /sys/fs/cgroup/box
start /usr/kernel/floods.kdl --slack $slack
answers
as_nobody true
mkdir -p $own/a $own/b /tmp/shared
chown -R nobody $own
chmod 1777 /tmp/shared
echo 0 >$own/cgroup.procs
hogs 1
film=$(echo $hogs)
asks reserve "$film" "RESBH 10ms 33ms"
# This shell would wait behind all that follows.
chrt -f -p 50 $$ >/dev/null
attack "attacker move 2000 $own"
for _ in 1 2 3 4; do attack "attacker ask" && attack "attacker connect" && attack "attacker rename"; done
attack "attacker fork"
attack "attacker idle 3000"
for _ in $(seq 20); do attack "attacker create /tmp/shared"; done
attack "herd 300 busy"
sleep 10
before=$(ran "$film") took=$(cpu_ms) broken=$(of "$film" broken)
asker "$FLOODS" >/tmp/asked || fail "root was not answered: $(cat /tmp/asked)"
had=$(($(ran "$film") - before)) took=$((($(cpu_ms) - took) / 10 / FLOODS)) broken=$(($(of "$film" broken) - broken))
runs "after floods of $FLOODS s"
echo "the reserved thread had $had ms of $((FLOODS * 10000 / 33)), $broken promises broken; hls took $took % of a CPU"
cat /tmp/asked /tmp/attack
[ "$broken" = 0 ] || broke "a promise broke"
[ "$took" -lt 10 ] || broke "hls took $took % of a CPU"
[ "$(sed 's/.*answers, \([0-9]*\) us.*/\1/' /tmp/asked)" -lt 100000 ] || broke "root waits for more than 100 ms"
end_attack
end_hogs
stop
