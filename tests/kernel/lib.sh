# Functions that the scripts of this folder share. Each script runs as root in the test machine, with `hls` in its PATH.
# Relies on the files /tmp/said (messages of `hls run`), /tmp/report (its report), /tmp/said2 and /tmp/granted (messages
# and output of other commands). `hls` is the PID of `hls run`, the keeper of the run, `run` the PID of the run itself,
# and `hogs` has the PIDs of the hogs (`hog.c`).
# The kernel's log says when the hierarchy begins and ends to run, and what fails: by their order the test machine tells
# faults of the emulator from ours (crates/vm/src/emulator.rs).
#
# Waits count rounds, not seconds: in each round this shell looks, and sleeps for a tenth of a second. EXACT is set where
# time follows the guest's instructions: there a number of rounds is always the same work. Elsewhere time is the host's,
# and the host may stop a CPU of the guest while another one goes round: there a wait may take twenty times as many
# rounds, and the CPU time that a thread had in some time is printed, not judged.
set -u
# There is no compiler in the guest: the engines that scripts need were built before, into this cache.
export XDG_CACHE_HOME=/usr/cache
[ -n "${EXACT-}" ] && patience=1 || patience=20

# What a promise may lack where time is exact: all invariants are checked, and timers wait meanwhile. Under PREEMPT_RT each
# budget ends up to 250 us late as well.
slack=500us
case $(cat /proc/version) in *PREEMPT_RT*) slack=1ms ;; esac

# guard SECONDS: the script has failed if it has not ended after SECONDS: it is taken to hang.
guard() {
	chrt -f 90 sh -c "sleep $1
		echo '<4>hls-vm: FAILED: the script does not end' >/dev/kmsg
		echo 'FAILED: the script does not end in $1 s'
		kill -9 $$ \$(pidof hls)" &
	trap "kill $! 2>/dev/null" EXIT
}
[ -z "${GUARD-}" ] || guard "$GUARD"

fail() {
	echo "<4>hls-vm: FAILED: $*" >/dev/kmsg
	echo "FAILED: $*"
	for file in /tmp/said /tmp/said2 /tmp/report; do
		[ -s "$file" ] && echo "--- $file:" && tail -n 80 "$file"
	done
	kill -9 ${hls-} ${hogs-} 2>/dev/null
	within 100 is disabled
	echo "--- the kernel:"
	dmesg | sed "1,/init as init/d" | tail -n 60
	exit 1
}

# within ROUNDS COMMAND...: repeats the command until it succeeds, for ROUNDS at most.
within() {
	rounds=$(($1 * patience))
	shift
	until "$@"; do
		rounds=$((rounds - 1))
		[ "$rounds" -gt 0 ] || return 1
		sleep 0.1
	done
}

# broke WHAT: a bound of time broke. That is a failure where time is exact; elsewhere the host may have broken it.
broke() {
	[ -z "${EXACT-}" ] || fail "$@"
	echo "NOT JUDGED: $*"
}

# is STATE: whether sched_ext is in this state.
is() { [ "$(cat /sys/kernel/sched_ext/state)" = "$1" ]; }

# gone PID: whether the process has ended.
gone() { ! [ -e "/proc/$1" ]; }

# has_ended PID: whether the process has ended, though its parent may not have waited for it yet.
has_ended() { ! [ -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

# still TEXT: whether the kernel has as many BPF programs, maps and links as the text says.
still() { [ "$(in_kernel)" = "$1" ]; }

# Sets `before` to these counts, once they no longer change: the kernel frees what was given up a moment later.
count() {
	while before=$(in_kernel) && sleep 2 && ! still "$before"; do :; done
}

# start FILE OPTION...: has the hierarchy schedule the machine until `stop`. All invariants are checked meanwhile, which
# may take more of a CPU than all else that hls does; not where UNCHECKED is set.
start() {
	[ -n "${UNCHECKED-}" ] || set -- "$@" --paranoid
	is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state) before the start"
	hls run --engine kernel "$@" >/tmp/report 2>/tmp/said &
	hls=$!
	within 3000 attached_or_gone && is enabled || fail "the hierarchy was not attached"
	[ -n "${ALL_POLICIES-}" ] || ! grep 'the engine has all policies' /tmp/said ||
		fail "no engine was built for this script: it needs a line '# Engine: ...', or ALL_POLICIES"
	read -r run _ <"/proc/$hls/task/$hls/children" || [ -n "$run" ] || fail "hls $hls has no run"
	echo "<4>hls-vm: runs" >/dev/kmsg
}

attached_or_gone() { is enabled || gone "$hls"; }

# runs WHEN: the hierarchy must still schedule the machine: neither hls nor the kernel has detached it.
runs() {
	is enabled || fail "$1: sched_ext is $(cat /sys/kernel/sched_ext/state)"
	gone "$hls" && fail "$1: hls has gone"
	return 0
}

# Ends the run as Ctrl-C does; sched_ext must be disabled afterwards, as it was before.
stop() {
	runs "at the end"
	echo "<4>hls-vm: stops" >/dev/kmsg
	kill -INT "$hls"
	wait "$hls"
	status=$?
	[ "$status" -le 1 ] || fail "hls exited with $status"
	is disabled || fail "sched_ext is $(cat /sys/kernel/sched_ext/state) after the end"
	[ -n "${UNCHECKED-}" ] || grep 'each of the [1-9][0-9]* times they were checked' /tmp/said ||
		fail "the invariants were never checked"
}

# hogs NUMBER: starts NUMBER hogs.
hogs() {
	hogs=
	for _ in $(seq "$1"); do
		hog &
		hogs="$hogs $!"
	done
}

# named_hogs NAME...: starts a further hog of each name.
named_hogs() {
	for name in "$@"; do
		hog "$(printf "$name")" &
		hogs="${hogs-} $!"
	done
}

# Has a thread of the kernel, `kernel_thread`, compute without a pause until end_kernel_thread: it scans the memory of
# `merger` for pages that are alike.
busy_kernel_thread() {
	kernel_thread=$(pidof ksmd) || fail "the kernel has no thread that merges memory"
	merger 64 &
	merger=$!
	echo 1000000 >/sys/kernel/mm/ksm/pages_to_scan
	echo 0 >/sys/kernel/mm/ksm/sleep_millisecs
	echo 1 >/sys/kernel/mm/ksm/run
	before=$(ran "$kernel_thread")
	within 100 has_run "$kernel_thread" $((before + 100)) || fail "the kernel's thread does not compute"
}

has_run() { [ "$(ran "$1")" -ge "$2" ]; }

end_kernel_thread() {
	echo 0 >/sys/kernel/mm/ksm/run
	kill "$merger"
	wait "$merger" 2>/dev/null
}

# Prints the CPU time that each hog has had, in ns; 0 for a hog that has ended.
had() {
	for pid in $hogs; do
		read -r ns _ <"/proc/$pid/schedstat" || ns=0
		echo "$ns"
	done
}

# hogs_get_on SECONDS: every hog must get CPU time within ten times as many rounds.
hogs_get_on() {
	had >/tmp/had
	within $(($1 * 10)) all_have_more || fail "a hog stands still: $(had | paste -d' ' - /tmp/had)"
}

all_have_more() { had | paste -d' ' - /tmp/had | awk '$1 <= $2 { exit 1 }'; }

# ratio LEAST MOST WHEN: after half a second the first of the two hogs must have, for two seconds, between LEAST and MOST
# times as much CPU time as the second.
ratio() {
	sleep 0.5
	had >/tmp/had
	sleep 2
	had | paste -d' ' - /tmp/had >/tmp/both
	awk -v least="$1" -v most="$2" '
		{ got[NR] = $1 - $2 }
		END { exit !(got[1] > least * got[2] && got[1] < most * got[2]) }' /tmp/both ||
		fail "$3: the hogs had, now and before, $(cat /tmp/both)"
}

end_hogs() {
	kill $hogs
	wait $hogs 2>/dev/null
	for pid in $hogs; do within 50 gone "$pid" || fail "hog $pid does not end"; done
	hogs=
}

# end_agent PID: ends the agent that the hierarchy's file has started. An agent that is not asked is parked: it stays
# runnable without a CPU, and is no lost thread.
end_agent() {
	kill "$1"
	within 50 has_ended "$1" || fail "the agent of the file does not end"
}

# No thread of the machine may be runnable, and without CPU time, for 5 seconds.
none_is_lost() {
	waiting >/tmp/waited
	within 1 nobody_waits || fail "lost threads (TID, name, CPU time, switches): $(cat /tmp/lost)"
}

# nobody_waits: whether no thread has waited, without CPU time, since /tmp/waited was written.
nobody_waits() {
	sleep 5
	waiting | sort - /tmp/waited | uniq -d >/tmp/lost
	! [ -s /tmp/lost ]
}

# Prints the threads that are runnable, each with its CPU time and how often it was switched to. These numbers are read
# before the state: else a thread that ran between the two readings, then slept, and wakes up for the next reading would
# seem to have waited from the first reading on.
waiting() {
	(
		cd /proc
		grep -H . [0-9]*/task/[0-9]*/comm [0-9]*/task/[0-9]*/schedstat
		grep -l '^State:.R' [0-9]*/task/[0-9]*/status
	) 2>/dev/null | awk -F/ '
		sub(/^comm:/, "", $4) { name[$3] = $4 }
		sub(/^schedstat:/, "", $4) { had[$3] = $4 }
		$4 == "status" { print $3, name[$3], had[$3] }'
}

# hotplug_until FILE: the last CPU goes, and comes back, again and again until there is something in the file.
hotplug_until() {
	last=$(ls -d /sys/devices/system/cpu/cpu[0-9]* | sort -V | tail -n 1) gone=0
	until [ -s "$1" ]; do
		echo 0 >"$last/online" || fail "$last does not go"
		sleep 1
		echo 1 >"$last/online" || fail "$last does not come back"
		gone=$((gone + 1))
		sleep 3
	done
	echo "a CPU went and came back $gone times"
}

# of THREAD FIELD: prints a field that `hls ctl status` has of a thread.
of() { hls ctl status --json | said_of "$@"; }

# said_of THREAD FIELD: prints a field that the status at the standard input has of a thread.
said_of() {
	awk -v thread="$1," -v field="\"$2\":" '
		$1 == "\"thread\":" { is_it = $2 == thread }
		is_it && $1 == field { sub(/^[^:]*: /, ""); gsub(/[",]/, ""); print; exit }'
}

# has_got THREAD FIELD MS: whether a time in the thread's status has reached MS.
has_got() { [ "$(of "$1" "$2")" -ge $(($3 * 1000000)) ]; }

# is_at THREAD SCHEDULER: whether the thread is below it.
is_at() { [ "$(of "$1" scheduler)" = "$2" ]; }

# moves THREAD SCHEDULER: the thread must come to be below it.
moves() { within 100 is_at "$1" "$2" || fail "thread $1 is below $(of "$1" scheduler), expected $2"; }

# has_started COMMAND: the hierarchy's file names the command; its process must be there soon. $agent is its PID then.
has_started() { within 100 pidof "$1" >/dev/null && agent=$(pidof "$1") || fail "$1 does not start"; }

# ran THREAD: prints its CPU time in ms.
ran() { awk '{ printf "%d\n", $1 / 1000000 }' "/proc/$1/schedstat"; }

# Prints the CPU time of all threads of the run and of its keeper.
cpu_ms() { cat /proc/$hls/task/*/schedstat /proc/$run/task/*/schedstat 2>/dev/null | awk '{ ns += $1 } END { printf "%d\n", ns / 1000000 }'; }

# has_no NAME: whether there is no such scheduler.
has_no() { ! hls ctl status | grep -q "[─] $1 "; }

# asks REQUEST...: makes a request of the hierarchy that runs, which must grant it.
asks() { hls ctl "$@" >/tmp/granted 2>/tmp/said2 || fail "hls ctl $*: $(cat /tmp/said2)"; }

# The run that was started must answer requests.
answers() { within 100 hls ctl status >/tmp/granted 2>/tmp/said2 || fail "hls does not answer"; }

# as_nobody COMMAND: carries the command out as the user `nobody`, without the rights of root.
as_nobody() {
	grep -q ^nobody: /etc/passwd || echo 'nobody:x:65534:65534::/:/bin/sh' >>/etc/passwd
	su nobody -c "$1"
}

# end_attack: ends all processes of `nobody`.
end_attack() {
	for process in /proc/[0-9]*; do
		[ "$(stat -c %u "$process" 2>/dev/null)" = 65534 ] && kill -9 "${process#/proc/}" 2>/dev/null
	done
	return 0
}

# Prints the longest of the times, in us, that `asker` has written to /tmp/asked.
us_at_worst() { sed 's/.*100, \([0-9]*\) us at worst.*/\1/' /tmp/asked; }
