# What the scripts with floods share, besides lib.sh: users without rights do all that they can at once, beside a thread
# with a promise, `film`, and the script itself has a real-time class.

attack() { as_nobody "exec chrt -o 0 $1" >>/tmp/attack 2>&1 & }

# begin_floods MOVED TRIPLES OWNERS SLEEPERS CREATORS BUSY: starts the hierarchy and the attackers. One attacker moves
# MOVED threads, and one forks. TRIPLES attackers ask, as many connect, and as many rename themselves; OWNERS reserve
# CPU time for themselves, and as many ask for more than there is. SLEEPERS threads sleep, CREATORS create files, and
# BUSY threads compute.
begin_floods() {
	own=/sys/fs/cgroup/nobody
	mkdir -p /sys/fs/cgroup/box
	as_nobody true
	start /usr/kernel/floods.kdl --slack $slack
	answers
	mkdir -p $own/a $own/b /tmp/shared/other
	chown -R nobody $own
	chmod 1777 /tmp/shared /tmp/shared/other
	: >/tmp/go
	echo 0 >$own/cgroup.procs
	hogs 1
	film=$(echo $hogs)
	asks reserve "$film" "RESBH 10ms 33ms"
	# This shell would wait behind all that follows.
	chrt -f -p 50 $$ >/dev/null
	attack "attacker move $1 $own"
	for _ in $(seq "$2"); do attack "attacker ask" && attack "attacker connect" && attack "attacker rename"; done
	for _ in $(seq "$3"); do
		attack "attacker reserve RES 'RESBH 1ms 33ms'" && attack "attacker reserve RES 'RESBH 32ms 33ms'"
	done
	attack "attacker fork"
	attack "attacker idle $4"
	for _ in $(seq "$5"); do attack "attacker files /tmp/shared"; done
	attack "herd $6 busy"
}

# measure_floods SECONDS: root asks for SECONDS. Sets `had`, the CPU time of `film` in ms, and `broken`, the number of its
# broken promises; `took`, the percentage of a CPU that hls used; `answered`, the number of root's answers, and
# `us_of_99`, the longest time in us of 99 of 100 of them.
measure_floods() {
	broken=$(of "$film" broken) before=$(ran "$film") took=$(cpu_ms)
	asker "$1" >/tmp/asked || fail "root was not answered: $(cat /tmp/asked)"
	had=$(($(ran "$film") - before)) took=$((($(cpu_ms) - took) / 10 / $1))
	broken=$(($(of "$film" broken) - broken))
	echo "the reserved thread had $had ms of $(($1 * 10000 / 33)), $broken promises broken; hls took $took % of a CPU"
	echo "root had $(cat /tmp/asked)"
	answered=$(cut -d' ' -f1 /tmp/asked)
	us_of_99=$(sed 's/.*answers, \([0-9]*\) us.*/\1/' /tmp/asked)
}

# Once the attack is over, hls soon takes next to nothing, and has kept little memory of it.
becomes_quiet() {
	kept=$(resident_kib)
	end_attack
	sleep 5
	took=$(cpu_ms)
	sleep 5
	took=$(($(cpu_ms) - took)) kept=$(($(resident_kib) - kept))
	echo "after the attack hls took $took ms in 5 s, and had $kept KiB more"
	[ "$took" -lt 250 ] || broke "hls took $took ms in 5 s after the attack"
	[ "$kept" -lt 4096 ] || fail "hls kept $kept KiB"
}

resident_kib() { sed -n 's/^VmRSS: *\([0-9]*\) kB/\1/p' "/proc/$run/status"; }

# An attacker that cannot do what it is to do has said so; the herd has said that it is ready.
end_floods() {
	[ "$(cat /tmp/attack)" = ready ] || fail "an attacker has failed: $(cat /tmp/attack)"
	becomes_quiet
	rm /tmp/go
	end_hogs
	stop
}
