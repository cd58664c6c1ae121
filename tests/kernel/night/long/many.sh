#!/bin/sh
# 1,000 threads of one process, in several schedulers, are moved from one scheduler to the next while they run: all of
# them get on, before, meanwhile and afterwards.
. /usr/kernel/lib.sh

# Prints the CPU time that each thread of the workload's process has had, without its first, which only waits.
had_by_all() { (cd "/proc/$load/task" && grep -H . [0-9]*/schedstat) | grep -v "^$load/" | cut -d' ' -f1; }

nobody_stands_still() {
	had_by_all | sort - /tmp/had | uniq -d >/tmp/still
	! [ -s /tmp/still ]
}

all_get_on() {
	had_by_all >/tmp/had
	[ "$(wc -l </tmp/had)" -ge 1000 ] || fail "$1: there are $(wc -l </tmp/had) threads"
	within 600 nobody_stands_still || fail "$1: these stand still: $(cat /tmp/still)"
	runs "$1"
}

start /usr/kernel/many.kdl --json
answers
load=$(cat "/proc/$run/task/$run/children")
load=${load% }
all_get_on "1,000 threads"
mover "$load" 1 >/tmp/moves 2>/tmp/said2 &
mover=$!
all_get_on "while they are moved"
wait "$mover" || fail "a move was refused"
cat /tmp/moves
all_get_on "when they were moved"
none_is_lost
stop
