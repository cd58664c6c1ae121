# What the scripts with floods share, besides lib.sh: users without rights do all that they can at once, beside a thread
# with a promise, `film`, and the script itself has a real-time class.

attack() { as_nobody "exec chrt -o 0 $1" >>/tmp/attack 2>&1 & }

# begin_floods MOVED PAIRS SLEEPERS CREATORS BUSY: the hierarchy runs, and so do the attackers: one that moves so many
# threads, so many that ask, that connect and that rename themselves, one that forks, and threads that sleep, that create
# files and that compute.
begin_floods() {
	own=/sys/fs/cgroup/nobody
	mkdir -p /sys/fs/cgroup/box
	start /usr/kernel/floods.kdl --slack $slack
	answers
	as_nobody true
	mkdir -p $own/a $own/b /tmp/shared
	chown -R nobody $own
	chmod 1777 /tmp/shared
	echo 0 >$own/cgroup.procs
	hogs 1
	film=$(echo $hogs)
	asks reserve "$film" "RESBH 10ms 33ms"
	# This shell would wait behind all that follows.
	chrt -f -p 50 $$ >/dev/null
	attack "attacker move $1 $own"
	for _ in $(seq "$2"); do attack "attacker ask" && attack "attacker connect" && attack "attacker rename"; done
	attack "attacker fork"
	attack "attacker idle $3"
	for _ in $(seq "$4"); do attack "attacker create /tmp/shared"; done
	attack "herd $5 busy"
}

# measure_floods SECONDS: root asks for so long. What `film` `had` in ms and how many of its promises were `broken`, the
# percentage that hls `took` of a CPU, and how often root was `answered`, with its times in us for 99 of 100 and at worst.
measure_floods() {
	broken=$(of "$film" broken) before=$(ran "$film") took=$(cpu_ms)
	asker "$1" >/tmp/asked || fail "root was not answered: $(cat /tmp/asked)"
	had=$(($(ran "$film") - before)) took=$((($(cpu_ms) - took) / 10 / $1))
	broken=$(($(of "$film" broken) - broken))
	echo "the reserved thread had $had ms of $(($1 * 10000 / 33)), $broken promises broken; hls took $took % of a CPU"
	echo "root had $(cat /tmp/asked)"
	answered=$(cut -d' ' -f1 /tmp/asked)
	us_of_99=$(sed 's/.*answers, \([0-9]*\) us.*/\1/' /tmp/asked)
	us_at_worst=$(sed 's/.*100, \([0-9]*\) us at worst.*/\1/' /tmp/asked)
}

end_floods() {
	end_attack
	end_hogs
	stop
}
