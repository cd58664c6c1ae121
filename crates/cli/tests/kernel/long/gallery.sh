#!/bin/sh
# The gallery of bad policies, one after the other in a hierarchy that runs: refused at its line, or taken out for what it
# does. Whoever is below it goes on at what its place gives, and whoever has a promise elsewhere notices nothing. What is to
# come of each says its file: `Noticed:`, and `In the kernel:` where that is another. What does not compile is not here.
. /usr/kernel/lib.sh
. /usr/kernel/policies.sh

# The CPU time that each of the crowd has had, in ns.
crowd_had() { while read -r tid; do echo "$tid $(cut -d' ' -f1 "/proc/$crowd/task/$tid/schedstat")"; done </tmp/crowd; }

# All of the crowd get on within so many tenths of a second.
crowd_gets_on() {
	crowd_had >/tmp/had
	tenths=$1
	while crowd_had | cmp -s - /tmp/had || crowd_had | paste -d' ' - /tmp/had | grep -q '^\([0-9]* [0-9]*\) \1$'; do
		tenths=$((tenths - 1))
		[ "$tenths" -gt 0 ] || fail "$name: one of the crowd stands still: $(crowd_had | paste -d' ' - /tmp/had)"
		sleep 0.1
	done
}

# It is in the place of the policy, and all that ask are told.
is_taken_out() {
	within 150 has_said "TAKEN OUT: $name of G, since $noticed.*; round-robin is in its place" ||
		fail "$name: nobody says that it was taken out since $noticed"
	hls policies --running | grep -q "^round-robin .*G" || fail "$name: G has no fallback: $(hls policies --running)"
	hls ctl status | grep -q "^G has round-robin in the place of what was taken out, $name: .*$noticed" ||
		fail "$name: the status does not have it: $(hls ctl status)"
}

# How it ends, for a crowd below it.
shows_itself() {
	does hls ctl create "$name" G --below RES guarantee="RESBH 40ms 200ms"
	crowd G restless >/tmp/crowd 2>/tmp/crowd2 &
	crowd=$!
	within 300 test -s /tmp/crowd || fail "$name: the crowd does not come together"
	case $noticed in
	nothing) sleep 2 && has_said "TAKEN OUT" && fail "$name: was taken out" ;;
	*) is_taken_out ;;
	esac
	crowd_gets_on 200
	kill -9 "$crowd"
	wait "$crowd" 2>/dev/null
	within 100 hls ctl destroy G >/dev/null 2>/tmp/said2 || fail "$name: G stays: $(cat /tmp/said2)"
}

# Two that it promises the same: the second is told that this is not so.
breaks_its_word() {
	does hls ctl create "$name" G --below RES guarantee="RESBH 40ms 200ms"
	kept=$hogs
	named_hogs first second
	set -- $hogs
	shift 2
	for tid in $*; do does hls ctl move "$tid" --to G budget=20ms period=400ms; done
	grep -q "promises it RESBS 20ms 400ms" /tmp/granted || fail "$name: promises nothing: $(cat /tmp/granted)"
	within 150 has_said "BROKEN: $2 second was promised RESBS 20ms 400ms by G, at least" || fail "$name: nobody says that"
	has_said "BROKEN: $1 first .*at least" && fail "$name: the first has nothing"
	kill -9 $*
	wait $* 2>/dev/null
	hogs=$kept
	within 100 hls ctl destroy G >/dev/null 2>/tmp/said2 || fail "$name: G stays: $(cat /tmp/said2)"
}

start /usr/kernel/ctl.kdl --slack 300ms
answers
reserve_some
before=$(in_kernel)
for file in ${GALLERY-$(grep -l 'Noticed:' /usr/policies/*.c)}; do
	name=$(basename "$file" .c | tr _ -)
	noticed=$(sed -n 's/^ \* Noticed: //p' "$file")
	here=$(sed -n 's/^ \* In the kernel: //p' "$file")
	noticed=${here:-${noticed#*; }}
	from_here
	echo "$name: $noticed"
	case $noticed in
	"by the compiler") continue ;;
	"by the verifier") refuses "${file##*/}:$(grep -n '/\* here \*/' "$file" | cut -d: -f1): error" hls load "$file" ;;
	*)
		does hls load "$file"
		if [ "$noticed" = "by the monitor" ]; then breaks_its_word; else shows_itself; fi
		does hls unload "$name"
		;;
	esac
	keeps "$reserved" "$name"
	runs "$name"
	nothing_is_left "$before" "$name"
done
hogs_get_on 1
end_hogs
none_is_lost
stop
