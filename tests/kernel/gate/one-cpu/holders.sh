#!/bin/sh
# Threads that lose the CPU with a lock of the kernel's do not keep others waiting for as long as their scheduler has
# them wait: root creates and moves files in a folder where other threads do the same. Twelve have 3 ms in 5 s; then as
# many as $HOLDERS says are below a scheduler whose process is stopped; then they are suspended, and root's thread is
# reserved. The owner of their scheduler pays for what the threads have beyond what it grants. One CPU, in exact time.
# Engine: user-level
UNCHECKED=yes
. /usr/kernel/lib.sh

case $(cat /proc/version) in
*PREEMPT_RT*)
	echo "not tried: with PREEMPT_RT the kernel does not say which thread has a lock"
	exit 0
	;;
esac
start /usr/kernel/holders.kdl --slack $slack --trace /tmp/trace
answers
mkdir -p /tmp/shared/other
chmod 1777 /tmp/shared /tmp/shared/other
hogs 3
set -- $hogs
film=$1 own=$2 other=$3
asks reserve "$film" "RESBH 10ms 33ms"
asks move "$own" --to own
asks move "$other" --to other
as_nobody true

# attackers NUMBER: begins so many threads of the owner, which wait for /tmp/go.
attackers() {
	rm -f /tmp/go
	number=$1
	for _ in $(seq "$1"); do as_nobody "exec attacker files /tmp/shared" & done
	within 100 are_started || fail "the attackers do not start"
}
are_started() { [ "$(pidof attacker | wc -w)" = "$number" ]; }

# measure WHAT SECONDS: root creates files for so long. A command that goes before is in $reserve.
measure() {
	before=$(of "$film" ran_ns) broken=$(of "$film" broken)
	sh -c "$reserve exec asker $2 files /tmp/shared" >/tmp/asked || fail "root could create no file: $(cat /tmp/asked)"
	had=$((($(of "$film" ran_ns) - before) / 1000000)) broken=$(($(of "$film" broken) - broken))
	echo "$1: root had $(cat /tmp/asked); the reserved thread had $had ms, $broken promises broken"
	[ "$(us_at_worst)" -lt 100000 ] || fail "root had $(cat /tmp/asked)"
	[ "$broken" = 0 ] || fail "a promise broke"
	[ "$had" -ge $(($2 * 300)) ] || fail "the reserved thread had $had ms of $(($2 * 303))"
}

reserve=
attackers 12
for attacker in $(pidof attacker); do asks move "$attacker" --to held; done
: >/tmp/go
own_before=$(of "$own" ran_ns) other_before=$(of "$other" ran_ns)
measure "3 ms in 5 s" 8
own_had=$((($(of "$own" ran_ns) - own_before) / 1000000)) other_had=$((($(of "$other" ran_ns) - other_before) / 1000000))
echo "the owner's other thread had $own_had ms, its sibling $other_had ms"
end_attack

as_nobody "exec chooser take decided" &
has_started chooser
moves "$agent" decided
for number in $HOLDERS; do
	attackers $number
	slot=0
	for attacker in $(pidof attacker); do
		slot=$((slot + 1))
		asks grant decided "$attacker" slot=$slot
	done
	: >/tmp/go
	sleep 1
	kill -STOP "$agent"
	measure "$number, their process is stopped" 4
	kill -CONT "$agent"
	sleep 1
	for attacker in $(pidof attacker); do asks suspend "$attacker"; done
	reserve='hls ctl reserve $$ "RESBH 10ms 33ms" >/dev/null &&'
	measure "$number, suspended, and root's thread is reserved" 4
	reserve=
	end_attack
done

end_hogs
stop
[ "$status" = 0 ] || fail "hls exited with $status"
paid=$(grep -ao "pays [0-9.]*[mu]s" /tmp/trace | wc -l)
echo "the owner has paid $paid times"
[ "$paid" -ge 5 ] || fail "the owner does not pay for what its threads have while others wait for them"
