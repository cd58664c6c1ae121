#!/bin/sh
# Threads that lose the CPU with a lock of the kernel's do not keep others waiting for as long as their scheduler has
# them wait: root creates and moves files in a folder where twelve such threads do the same, with 3 ms in 5 s. One CPU,
# in exact time.
UNCHECKED=yes
. /usr/kernel/lib.sh

case $(cat /proc/version) in
*PREEMPT_RT*)
	echo "not tried: with PREEMPT_RT the kernel does not say which thread has a lock"
	exit 0
	;;
esac
start /usr/kernel/holders.kdl --slack $slack
answers
mkdir -p /tmp/shared/other
chmod 1777 /tmp/shared /tmp/shared/other
hogs 1
film=$(echo $hogs)
asks reserve "$film" "RESBH 10ms 33ms"
as_nobody true
for _ in $(seq 12); do as_nobody "exec attacker create /tmp/shared" & done
are_started() { [ "$(pidof attacker | wc -w)" = 12 ]; }
within 100 are_started || fail "the attackers do not start"
for attacker in $(pidof attacker); do asks move "$attacker" --to held; done
: >/tmp/go
before=$(of "$film" ran_ns) broken=$(of "$film" broken)
asker 12 /tmp/shared >/tmp/asked || fail "root could create no file: $(cat /tmp/asked)"
had=$((($(of "$film" ran_ns) - before) / 1000000)) broken=$(($(of "$film" broken) - broken))
echo "root had $(cat /tmp/asked); the reserved thread had $had ms, $broken promises broken"
us_at_worst=$(sed 's/.*100, \([0-9]*\) us at worst.*/\1/' /tmp/asked)
[ "$us_at_worst" -lt 100000 ] || fail "root had $(cat /tmp/asked)"
[ "$broken" = 0 ] || fail "a promise broke"
[ "$had" -ge 3600 ] || fail "the reserved thread had $had ms of 3636"
end_attack
end_hogs
stop
[ "$status" = 0 ] || fail "hls exited with $status"
