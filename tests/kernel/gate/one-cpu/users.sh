#!/bin/sh
# What users without rights do breaks no promise, and nothing is lost in it. One CPU, in exact time.
. /usr/kernel/lib.sh

# attack COMMAND: a user without rights carries it out for five seconds, beside a thread that was promised 10 ms in
# every 33 ms, of which there are 1,500 ms in that time, less the last period. Prints what the thread had, what the
# processes of hls took, and how long root waited for an answer.
attack() {
	as_nobody "$1" >/tmp/attack 2>&1 &
	sleep 0.5
	before=$(of "$film" ran_ns) took=$(cpu_ms)
	sleep 5
	had=$((($(of "$film" ran_ns) - before) / 1000000)) took=$(($(cpu_ms) - took))
	asked=$(ms_of hls ctl status)
	another=$(ms_of su another -c "hls ctl status")
	runs "under attack: $1"
	end_attack
	broken=$(($(of "$film" broken) + $(of "$other" broken)))
	echo "$1: had $had ms of 1500, hls took $took ms, root had an answer in $asked ms," \
		"another user in $another ms; $broken promises broken"
	[ "$had" -ge 1500 ] || fail "a thread had $had ms of 1500 ms while a user did: $1"
	[ "$broken" = 0 ] || fail "a promise broke while a user did: $1"
	[ "$asked" -lt 1000 ] || fail "root waited $asked ms for an answer while a user did: $1"
	[ "$another" -lt 5000 ] || fail "another user waited $another ms for an answer while a user did: $1"
}

# ms_of COMMAND...: prints how long the command takes.
ms_of() {
	read -r begin _ </proc/uptime
	"$@" >/dev/null || fail "$*"
	read -r end _ </proc/uptime
	echo "$begin $end" | awk '{ printf "%d\n", ($2 - $1) * 1000 }'
}

is_placed() { [ "$(of "$1" scheduler)" = RES ]; }

echo 'another:x:1001:1001::/:/bin/sh' >>/etc/passwd
start /usr/kernel/users.kdl --slack $slack
answers
hogs 2
film=$(echo $hogs | cut -d" " -f1) other=${hogs##* }
asks reserve "$film" "RESBH 10ms 33ms"
attack "attacker rename"
attack "attacker rename & attacker rename & attacker rename & wait"
attack "attacker idle 300 & for i in 1 2 3 4 5 6 7 8; do attacker ask & done; wait"
attack "for i in 1 2 3 4 5 6 7 8; do attacker connect & done; wait"
attack "attacker fork"

# A thread that starts while two others rename themselves gets its place, and is found.
as_nobody "attacker rename & attacker rename & wait" &
named_hogs placed
within 20 is_placed "${hogs##* }" || fail "the thread that was to be placed is not: $(of "${hogs##* }" scheduler)"
asks reserve "$other" "RESBH 1ms 33ms"
end_attack

# The place of a thread that has gone is free when its period has passed: the next thread begins with a new budget.
kill "${hogs##* }"
hogs=${hogs% *}
named_hogs placed
sleep 0.5
is_placed "${hogs##* }" && fail "a thread has the place of another one within its period"
within 20 is_placed "${hogs##* }" || fail "the next thread does not get the place"
end_hogs
stop
