#!/bin/sh
# Users without rights do all that they can at once: root is answered all the same, and a promise is kept. One CPU, whose
# time is exact; night/floods.sh has more of it.
UNCHECKED=yes
. /usr/kernel/lib.sh

attack() { as_nobody "exec chrt -o 0 $1" >>/tmp/attack 2>&1 & }

own=/sys/fs/cgroup/nobody
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
attack "attacker move 300 $own"
for _ in 1 2; do attack "attacker ask" && attack "attacker connect" && attack "attacker rename"; done
attack "attacker fork"
attack "attacker idle 300"
for _ in 1 2 3 4 5; do attack "attacker create /tmp/shared"; done
attack "herd 30 busy"
sleep 5
broken=$(of "$film" broken) before=$(ran "$film") took=$(cpu_ms)
asker 15 >/tmp/asked || fail "root was not answered: $(cat /tmp/asked)"
had=$(($(ran "$film") - before)) took=$((($(cpu_ms) - took) / 150))
broken=$(($(of "$film" broken) - broken))
echo "the reserved thread had $had ms of 4545, $broken promises broken; hls took $took % of a CPU; root had $(cat /tmp/asked)"
[ "$had" -ge 4500 ] || fail "the reserved thread had $had ms of 4545"
[ "$broken" = 0 ] || fail "a promise broke"
[ "$took" -lt 10 ] || fail "hls took $took % of a CPU"
# Ten questions a second, less the time that each takes.
[ "$(cut -d' ' -f1 /tmp/asked)" -ge 40 ] || fail "root had $(cat /tmp/asked)"
[ "$(sed 's/.*100, \([0-9]*\) us at worst.*/\1/' /tmp/asked)" -lt 2500000 ] || fail "root had $(cat /tmp/asked)"
end_attack
end_hogs
stop
