#!/bin/sh
# Requests while the hierarchy runs: granted, or refused with the reason and nothing changed; what they promise is
# watched, and reported. Two CPUs. Whether promises are kept is tested on one CPU.
. /usr/kernel/lib.sh

# refuses CODE REASON REQUEST...: the request must end with that exit code and reason, and change nothing.
refuses() {
	code=$1 reason=$2
	shift 2
	places >/tmp/before
	hls ctl "$@" >/dev/null 2>/tmp/said2
	status=$?
	[ "$status" = "$code" ] || fail "hls ctl $*: exited with $status, expected $code"
	grep -q "$reason" /tmp/said2 || fail "hls ctl $*: does not say '$reason', but: $(cat /tmp/said2)"
	places >/tmp/after
	cmp -s /tmp/before /tmp/after || fail "hls ctl $*: was refused, and changed: $(diff /tmp/before /tmp/after)"
}

# Prints each scheduler and thread with its place and its promise, without the threads that are promised nothing and
# the threads of hls, which come and go with requests. (The widths of the columns depend on their names.)
places() {
	hls ctl status | tr -s ' ' | sed 's/ [^ ]* [^ ]* [^ ]* [^ ]*$//' | grep -v " threads\|^machine\|hls"
}

# Whether /tmp/said has, after its first `lines` lines, that a promise to a thread broke because its scheduler got too
# little; `worst` is the first such thread.
one_broke() {
	why='; [A-Z]* got too little itself from'
	worst=$(sed -n "1,${lines}d; s/.*BROKEN: \([0-9]*\) .* was promised .*$why.*/\1/p" /tmp/said | head -n 1)
	[ -n "$worst" ]
}

# A process reserves half a CPU for itself, and this shell a third for another process.
# CPUs that take turns are late by up to 100 ms, each time: the lack that is looked for below is more.
start /usr/kernel/ctl.kdl --slack 200ms
answers
as_nobody "exec hls ctl watch" >/tmp/watched 2>&1 &
watcher=$!
hogs 2
sh -c 'hls ctl reserve $$ "RESBH 50ms 100ms" >/dev/null && exec hog' &
own=$! other=${hogs##* }
member=$(echo $hogs | cut -d' ' -f1)
asks reserve "$other" "RESBH 100ms 300ms"
grep -qx "thread $other is below .RES., which promises it RESBH 100ms 300ms" /tmp/granted || fail "$(cat /tmp/granted)"
within 50 sh -c "hls ctl status | grep -q ' ($own) .*RESBH 50ms 100ms'" || fail "no reservation for oneself"
for thread in $own $other; do
	within 10 has_got "$thread" promised_ns 50 || fail "thread $thread is owed nothing"
	within 10 has_got "$thread" ran_ns 50 || fail "thread $thread has nothing"
done

# Requests that cannot be granted, and a request by a user that may make none. The threads are stopped meanwhile: beside
# them each request takes three times as long.
kill -STOP $own $hogs
refuses 1 "needs" reserve "$member" "RESBH 100ms 100ms"
refuses 2 "at most the period" reserve "$member" "RESBH 150ms 100ms"
refuses 2 "thread 4000000" reserve 4000000 "RESBH 1ms 20ms"
refuses 2 "no scheduler .X." move "$own" --to X
refuses 2 "the root" destroy all
refuses 2 "the scheduler of hls itself" destroy hls
refuses 2 "the default" destroy rest
as_nobody "hls ctl reserve $own 'RESBH 1ms 100ms'" 2>/tmp/said2 && fail "nobody may do anything"
grep -q "of user" /tmp/said2 || fail "nobody is not told why"
kill -CONT $own $hogs

# A thread moves to and fro, each time with another promise, or none.
for _ in 1 2 3; do
	asks release "$other"
	[ "$(of "$other" scheduler) $(of "$other" promised_ns)" = "rest 0" ] || fail "$other is not released"
	asks move "$other" --to RES guarantee="RESBH 50ms 200ms"
	[ "$(of "$other" scheduler)" = RES ] || fail "$other is not in RES"
done
asks message "$other" budget=60ms
[ "$(of "$other" guarantee)" = "RESBH 60ms 200ms" ] || fail "the message changed nothing"

# A scheduler comes, is used, and goes.
asks create proportional-share GROUP --below RES guarantee="RESBH 165ms 500ms"
asks move "$member" --to GROUP share=1
refuses 2 "below .GROUP." destroy GROUP
hls ctl status | grep -q "GROUP .*RESBH 165ms 500ms" || fail "the tree does not have GROUP"
# A user that watches is told so.
is_told() { grep -qx "$1" /tmp/watched; }
within 50 is_told "created .GROUP. (proportional-share), which is promised RESBH 165ms 500ms" ||
	fail "nobody is not told of GROUP: $(cat /tmp/watched)"
within 50 is_told "thread $member is below .GROUP., which promises it PS.*" ||
	fail "nobody is not told of $member: $(cat /tmp/watched)"

# Three threads are bound to one CPU, and promised more than that CPU has: a promise breaks, and hls says why.
asks reserve "$other" "RESBH 50ms 100ms"
lines=$(wc -l </tmp/said)
for thread in $own $other $member; do taskset -p 1 "$thread" >/dev/null; done
within 300 one_broke || fail "the log does not say that a promise broke, and why"
grep -q "records were lost" /tmp/said && broke "hls, on a CPU that has little to do, falls behind: $(cat /tmp/said)"
hls ctl status >/tmp/tree
[ "$(of "$worst" broken)" -gt 0 ] || fail "no promise to $worst broke: $(cat /tmp/tree)"
grep -q " ($worst) .* [1-9][0-9]*$" /tmp/tree || fail "the tree does not count it: $(cat /tmp/tree)"
for thread in $own $other $member; do taskset -p 3 "$thread" >/dev/null; done

asks release "$member"
asks destroy GROUP
refuses 2 "no scheduler .GROUP." destroy GROUP
kill "$own"
within 50 gone "$own" || fail "$own does not end"
hogs_get_on 1
end_hogs
stop
wait "$watcher" || fail "hls ctl watch exited with $?: $(cat /tmp/watched)"
grep -q "^  $member .*GROUP .*PSBE" /tmp/report || fail "the report does not have the promise of GROUP"
grep -q "^  $worst " /tmp/report || fail "the report does not have the promise that broke"
grep -q "^  $own .*RESBH 50ms 100ms" /tmp/report || fail "the report does not have the promise to $own"
