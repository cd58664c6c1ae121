#!/bin/sh
# The gallery of bad policies, one after the other in a hierarchy that runs. Each is refused at the line that is wrong,
# or disabled for what it does. Then the threads below it go on with the time that its scheduler gets, and promises to
# other threads hold. The file of each policy says what notices it: `Noticed:`, and `In the kernel:` where that is
# something else. Policies that do not compile are left out.
#
# TOGETHER: one engine has all policies that can be loaded from the start. On one CPU time is exact.
. /usr/kernel/lib.sh
. /usr/kernel/policies.sh

# expected FILE: sets `policy` to the policy's name and `noticed` to what its file says must notice it.
expected() {
	here=$(sed -n 's/^ \* In the kernel: //p' "$1" | paste -sd'|') noticed=$(sed -n 's/^ \* Noticed: //p' "$1")
	noticed=$(echo "${here:-${noticed#*; }}" | sed 's/ | /|/g; s/.*|.*/\\(&\\)/; s/|/\\|/g')
	policy=$(basename "$1" .c | tr _ -)
}

# Prints the CPU time that each thread of the crowd has had, in ns.
crowd_had() { while read -r tid; do echo "$tid $(cut -d' ' -f1 "/proc/$crowd/task/$tid/schedstat")"; done </tmp/crowd; }

# crowd_gets_on ROUNDS: all threads of the crowd must get CPU time within ROUNDS.
crowd_gets_on() {
	crowd_had >/tmp/had
	within "$1" all_of_crowd_have_more || fail "$policy: one of the crowd stands still: $(crowd_had | paste -d' ' - /tmp/had)"
}

all_of_crowd_have_more() { crowd_had | paste -d' ' - /tmp/had | awk '$2 <= $4 { exit 1 }'; }

# Round robin must be in the place of the policy, and hls run, hls policies and hls ctl status must say so.
policy_is_disabled() {
	within 150 has_said "DISABLED: $policy of G, since $noticed.*; round-robin is in its place" ||
		fail "$policy: hls does not say that it was disabled since $noticed: $(cat /tmp/crowd2; hls ctl status)"
	hls policies --running | grep -q "^round-robin .*G" || fail "$policy: G has no fallback: $(hls policies --running)"
	hls ctl status | grep -q "^G has round-robin in the place of a disabled policy, $policy: .*$noticed" ||
		fail "$policy: the status does not have it: $(hls ctl status)"
}

# A crowd of threads below a scheduler of the policy, on as many CPUs as there are: the policy must end as expected.
shows_itself() {
	if [ "$(nproc)" = 1 ]; then set -- RES guarantee="RESBH 40ms 200ms"; else set -- FP priority=0; fi
	does hls ctl create "$policy" G --below "$@"
	crowd G restless >/tmp/crowd 2>/tmp/crowd2 &
	crowd=$!
	within 300 test -s /tmp/crowd || fail "$policy: the crowd does not come together"
	case $noticed in
	nothing*) sleep 2 && has_said "DISABLED" && fail "$policy: was disabled" ;;
	*) policy_is_disabled ;;
	esac
	case $noticed in *"; nobody gets on") ;; *) crowd_gets_on 200 ;; esac
	kill -9 "$crowd"
	wait "$crowd" 2>/dev/null
	within 100 hls ctl destroy G >/dev/null 2>/tmp/said2 || fail "$policy: G stays: $(cat /tmp/said2)"
}

# word_is_broken THREAD: whether hls has said that the promise to `second` was broken. Where CPUs are the host's, very
# many promises may break, of which hls only counts most: there it may have counted it.
word_is_broken() {
	has_said "BROKEN: $1 second was promised RESBS 20ms 400ms by G, at least" ||
		{ [ -z "${EXACT-}" ] && [ "$(of "$1" broken)" -gt 0 ]; }
}

# Two threads that the policy promises CPU time: hls must say that the promise to the second is broken.
breaks_its_word() {
	does hls ctl create "$policy" G --below RES guarantee="RESBH 40ms 200ms"
	before_them=$hogs hogs=
	named_hogs first second
	set -- $hogs
	hogs=$before_them
	does hls ctl move "$1" --to G budget=5ms period=400ms
	does hls ctl move "$2" --to G budget=20ms period=400ms
	grep -q "promises it RESBS 20ms 400ms" /tmp/granted || fail "$policy: promises nothing: $(cat /tmp/granted)"
	within 150 word_is_broken "$2" || fail "$policy: hls says nothing"
	# Where CPUs are the host's, this promise may break, too.
	[ -n "${EXACT-}" ] && has_said "BROKEN: $1 first .*at least" && fail "$policy: the first has nothing"
	kill -9 $*
	wait $* 2>/dev/null
	within 100 hls ctl destroy G >/dev/null 2>/tmp/said2 || fail "$policy: G stays: $(cat /tmp/said2)"
}

gallery=${GALLERY-$(grep -l 'Noticed:' /usr/policies/*.c)}
if [ -n "${TOGETHER-}" ]; then
	for file in $gallery; do
		expected "$file"
		case $noticed in *"by the compiler" | *"by the verifier") ;; *) echo "load \"$file\"" ;; esac
	done | cat - /usr/kernel/ctl.kdl >/tmp/hierarchy.kdl
	start /tmp/hierarchy.kdl --slack $slack
else
	start /usr/kernel/ctl.kdl --slack $slack
fi
answers
reserve_some 1
count
[ -n "${TOGETHER-}" ] || give_up_one /usr/policies/asked_times.c
for file in $gallery; do
	expected "$file"
	case $policy,$(nproc) in
	grants-twice,1) continue ;;    # There is no second CPU to grant.
	always-preempts,1) continue ;; # A decision is due all the while, so that nothing is checked.
	esac
	from_here
	echo "$policy: $noticed"
	case $noticed in
	"by the compiler") continue ;;
	"by the verifier")
		line=$(grep -n '/\* here \*/' "$file" | cut -d: -f1)
		[ -n "${TOGETHER-}" ] || refuses "${file##*/}:$line: error" hls load "$file"
		continue
		;;
	esac
	[ -n "${TOGETHER-}" ] || does hls load "$file"
	case $noticed in "by the monitor") breaks_its_word ;; *) shows_itself ;; esac
	keeps "$reserved" "$policy"
	runs "$policy"
	[ -n "${TOGETHER-}" ] || does hls unload "$policy"
	nothing_is_left "$before" "$policy"
done
hogs_get_on 1
end_hogs
none_is_lost
stop
