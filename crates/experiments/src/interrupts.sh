# Runs the hierarchies of composite-interrupts, with packets of the program `packets` at all rates. Prints lines
# `ROW HIERARCHY RATE RATE UPCALLS TASK1 TASK2 LEVEL0 DROPPED`, packets a second, of the CPU in thousandths.
#
# Relies on POINTS, words of the form HIERARCHY:RATE:RATE, those of one hierarchy together, and on SECONDS.
set -u

fail() {
	echo "$*: $(cat /tmp/errors)"
	exit 2
}

begin() {
	hls run "/usr/interrupts/$1.kdl" --engine kernel >/dev/null 2>/tmp/errors &
	hls=$!
	until hls ctl status >/dev/null 2>&1; do
		kill -0 $hls || fail "hls run $1"
		sleep 0.1
	done
}

# Broken promises (status 1) are not measured here.
end() {
	kill -INT $hls
	wait $hls
	[ $? -le 1 ] || fail "hls run $running"
}

ip link set lo up 2>/dev/null || ifconfig lo up || fail "the loopback device"
running=
for point in $POINTS; do
	hierarchy=${point%%:*} rates=${point#*:}
	if [ "$hierarchy" != "$running" ]; then
		[ -z "$running" ] || end
		begin "$hierarchy"
		running=$hierarchy
	fi
	case $hierarchy in a | c) upcalls=one ;; *) upcalls=two ;; esac
	numbers=$(packets $upcalls "${rates%%:*}" "${rates#*:}" "$SECONDS_EACH" 2>/tmp/errors) || fail "packets $point"
	echo "ROW $hierarchy ${rates%%:*} ${rates#*:} $numbers"
done
end
