#!/bin/sh
# The limits of the file hold: a cgroup with a name that is no text, or with a path too long for the kernel to tell, is
# still in the cgroups above it; requests do not reach the schedulers that hls has added for itself, and reach threads
# with names that are no text.
. /usr/kernel/lib.sh

cat >/tmp/box.kdl <<'KDL'
fixed-priority "FP" {
	reservation "RES" priority=1 {
		thread "film" comm="film*" guarantee="RESBH 10ms 33ms"
		round-robin "BOX" guarantee="RESBH 5ms 100ms" { thread "boxed" instances=4 cgroup="/box" }
	}
	time-sharing "rest" priority=0 default=#true
}
KDL
box=/sys/fs/cgroup/box
mkdir $box
start /tmp/box.kdl
hogs 2
set -- $hogs
boxed=$1 other=$2
echo "$boxed" >$box/cgroup.procs
moves "$boxed" BOX

# What has happened until now has been looked at when a later thread has its place.
all_is_seen() {
	named_hogs "$1"
	moves "${hogs##* }" RES
	kill "${hogs##* }"
	hogs=${hogs% *}
}
no_text=$box/$(printf '\377')
mkdir "$no_text"
echo "$boxed" >"$no_text/cgroup.procs"
all_is_seen film1
is_at "$boxed" BOX || fail "a thread left its box for a cgroup in it with a name that is no text"

name=$(printf '%0200d' 0)
cd $box || fail "there is no box"
for level in $(seq 22); do
	mkdir "$name" && cd -P "$name" || fail "level $level cannot be made"
done
echo "$boxed" >cgroup.procs
# Some kernels tell the beginning of such a path, others nothing.
[ "$(wc -c <"/proc/$boxed/cgroup" 2>/dev/null || echo 4096)" -ge 4096 ] || fail "the path of the cgroup is short"
all_is_seen film2
is_at "$boxed" BOX || fail "a thread left its box for a cgroup in it that is too deep"

what="which hls has added for its own threads"
refused() {
	hls ctl "$@" >/tmp/granted 2>/tmp/said2 && fail "hls ctl $*: $(cat /tmp/granted)"
	grep -q "$what" /tmp/said2 || fail "hls ctl $*: found '$(cat /tmp/said2)', expected '$what'"
}
refused reserve "$other" "RESBH 1ms 20ms" --below for-hls
refused move "$other" --to hls
refused create round-robin X --below for-hls guarantee="RESBH 1ms 50ms"
refused suspend "$run"
refused move "$run" --to rest
what="100%"
refused reserve "$other" "RESBH 15ms 20ms"
is_at "$other" rest || fail "thread $other is below $(of "$other" scheduler)"

# A thread with a name that is no text, and that would change a terminal, is there for all requests, and the name is
# shown in letters.
named_hogs 'odd\377\033[31m'
odd=${hogs##* }
within 20 is_at "$odd" rest || fail "the status does not have a thread with an odd name"
asks reserve "$odd" "RESBH 1ms 33ms"
is_at "$odd" RES || fail "a thread with an odd name is below $(of "$odd" scheduler)"
for form in "" --json; do
	hls ctl status $form >/tmp/status || fail "no status"
	grep -q odd /tmp/status || fail "the status ${form:-as text} does not have the name"
	! LC_ALL=C grep -q "$(printf '[\033\377]')" /tmp/status || fail "the status ${form:-as text} has the name's bytes"
done
asks suspend "$odd"
asks resume "$odd"
asks move "$odd" --to BOX
asks release "$odd"
is_at "$odd" rest || fail "a thread with an odd name is below $(of "$odd" scheduler)"
end_hogs
stop
