# Measures how long the requests of composite-server take in the test machine, beside hogs: in the fair class, and under
# hls in three ways. Prints lines `times VARIANT KIND COUNT P50 P99 P999 WORST`, in microseconds.
#
# Relies on run_hls.sh, on SECONDS_EACH and HOGS, on the program `server`, and on a build of the policy `ranks`.
set -u

serve() {
	server "$2" "$SECONDS_EACH" >/tmp/times 2>/tmp/errors || fail "server $2"
	while read -r line; do echo "times $1 $line"; done </tmp/times
}

start_hogs() {
	hogs=
	for _ in $(seq "$HOGS"); do
		while :; do :; done &
		hogs="$hogs $!"
	done
}

end_hogs() { kill $hogs; }

# Broken promises are reported, and not measured here.
end() {
	kill -INT $hls
	await_end "hls run"
	[ $status -eq 0 ] || echo "note: hls run said that a promise was broken"
}

ip link set lo up 2>/dev/null || ifconfig lo up || fail "the loopback device"
start_hogs
serve fair plain
end_hogs
begin /usr/server/server.kdl >/dev/null
sleep 2
start_hogs
serve reserved plain
serve own own
end_hogs
end
begin /usr/server/told.kdl >/dev/null
sleep 2
start_hogs
serve told told
end_hogs
end
