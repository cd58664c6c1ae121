# Runs the hierarchies of composite-interrupts, with packets of the program `packets` at all rates. Prints lines
# `ROW HIERARCHY RATE RATE UPCALLS TASK1 TASK2 LEVEL0 DROPPED`, in packets a second; LEVEL0 in thousandths of the CPU.
#
# Relies on run_hls.sh, on POINTS, words of the form HIERARCHY:RATE:RATE, grouped by hierarchy, and on SECONDS.
set -u

# Broken promises are not measured here.
end() {
	kill -INT $hls
	await_end "hls run $running"
}

ip link set lo up 2>/dev/null || ifconfig lo up || fail "the loopback device"
running=
for point in $POINTS; do
	hierarchy=${point%%:*} rates=${point#*:}
	if [ "$hierarchy" != "$running" ]; then
		[ -z "$running" ] || end
		begin "/usr/interrupts/$hierarchy.kdl" >/dev/null
		running=$hierarchy
	fi
	case $hierarchy in a | c) upcalls=one ;; *) upcalls=two ;; esac
	numbers=$(packets $upcalls "${rates%%:*}" "${rates#*:}" "$SECONDS_EACH" 2>/tmp/errors) || fail "packets $point"
	echo "ROW $hierarchy ${rates%%:*} ${rates#*:} $numbers"
done
end
