# Functions that scripts about loaded policies share, in addition to lib.sh.

# does COMMAND...: the command must succeed.
does() { "$@" >/tmp/granted 2>/tmp/said2 || fail "$*: $(cat /tmp/said2)"; }

# refuses REASON COMMAND...: the command must fail, with this reason in its message.
refuses() {
	reason=$1
	shift
	"$@" >/tmp/granted 2>/tmp/said2 && fail "$*: was done"
	grep -q "$reason" /tmp/said2 || fail "$*: does not say '$reason', but: $(cat /tmp/said2)"
}

# anew FILE: copies the policy's file to a new place, `copy`, so that hls has an engine verified for it even though the
# kernel may still have the engine of the former file.
anew() {
	copies=$((${copies-0} + 1))
	mkdir /tmp/copy$copies && cp "$1" /tmp/copy$copies && copy=/tmp/copy$copies/${1##*/}
}

# Prints the number of the process that has an engine verified; fails where there is none.
preparing() { grep -lz 'prepare-policie[s]' /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 | head -n 1 | grep .; }

nobody_prepares() { ! preparing >/dev/null; }

# has_loaded PID: prints how many BPF programs the process has loaded so far.
has_loaded() { grep -ls '^prog_id' "/proc/$1/fdinfo/"* | wc -l; }

# The engine that was given up last is kept until another one is given up, so give_up_one gives one up before it counts.
give_up_one() { does hls load "$1" && does hls unload "$(basename "$1" .c | tr _ -)" && count; }
nothing_is_left() { within 200 still "$1" || fail "$2: there were $1, there are $(in_kernel)"; }

# from_here: has_said looks only at what hls run says from now on.
from_here() { lines=$(wc -l </tmp/said); }
has_said() { sed "1,${lines}d" /tmp/said | grep -q "$1"; }

# What `reserved` may lack. It comes before all others of its CPU, so with 100 ms in every 300 ms it may come 200 ms
# late and lack nothing: late timers and kicks, and the turns that the processors of the test machine take, are no excuse.
# A tenth of the budget only keeps the log free of other promises: to RES and FP, of the whole CPU, which each late
# decision breaks.
[ -n "${EXACT-}" ] || slack=10ms

# keeps THREAD WHEN: no promise of CPU time to the thread may have broken since from_here.
keeps() { ! has_said "BROKEN: $1 .*at least" || broke "$2: what was promised to $1 was not kept"; }

# reserve_some NUMBER: starts NUMBER hogs and reserves a third of a CPU for the last of them, `reserved`.
reserve_some() {
	hogs "$1"
	reserved=${hogs##* }
	asks reserve "$reserved" "RESBH 100ms 300ms"
	from_here
}
