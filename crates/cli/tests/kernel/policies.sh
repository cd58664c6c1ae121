# What scripts about loaded policies share, beside lib.sh. There is no compiler in the guest: what is loaded was built
# before.
export XDG_CACHE_HOME=/usr/cache

# does COMMAND...: it succeeds.
does() { "$@" >/tmp/granted 2>/tmp/said2 || fail "$*: $(cat /tmp/said2)"; }

# refuses REASON COMMAND...: it does not, and says so.
refuses() {
	reason=$1
	shift
	"$@" >/tmp/granted 2>/tmp/said2 && fail "$*: was done"
	grep -q "$reason" /tmp/said2 || fail "$*: does not say '$reason'"
}

# anew FILE: another file with the same policy, whose engine is made ready although the one before may be there still.
anew() {
	copies=$((${copies-0} + 1))
	mkdir /tmp/copy$copies && cp "$1" /tmp/copy$copies && copy=/tmp/copy$copies/${1##*/}
}

# The process that makes an engine ready.
preparing() { grep -lz 'prepare-policie[s]' /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 | head -n 1 | grep .; }

nobody_prepares() { ! preparing >/dev/null; }

# How many BPF programs the process has loaded so far.
has_loaded() { grep -ls '^prog_id' "/proc/$1/fdinfo/"* | wc -l; }

# Whether the kernel has as many BPF programs, maps and links as that, whoever has them. What is freed is freed a moment
# later. An engine that was given up is kept until there is another, so `before` is when there is one.
has_left() { [ "$(in_kernel)" = "$1" ]; }
give_up_one() { does hls load "$1" && does hls unload "$(basename "$1" .c | tr _ -)" && sleep 2 && before=$(in_kernel); }
nothing_is_left() { within 200 has_left "$1" || fail "$2: there were $1, there are $(in_kernel)"; }

# From now on what hls said is looked at.
from_here() { lines=$(wc -l </tmp/said); }
has_said() { sed "1,${lines}d" /tmp/said | grep -q "$1"; }

# keeps THREAD WHAT: what it was promised was kept from there on.
keeps() { ! has_said "BROKEN: $1 .*at least" || fail "$2: what was promised to $1 was not kept"; }

# reserve_some HOGS: to the last of so many a third of a CPU is promised, as `reserved`.
reserve_some() {
	hogs "$1"
	reserved=${hogs##* }
	asks reserve "$reserved" "RESBH 100ms 300ms"
	from_here
}
