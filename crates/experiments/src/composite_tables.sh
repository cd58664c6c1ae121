# Measures the rows of composite-tables in the test machine: first those that need no hls, then the others under it.
# Prints lines `row ROW INSTRUCTIONS`. Relies on WITHOUT and WITH, the rows, and on the program `tables`.
set -u

fail() {
	echo "$*: $(cat /tmp/errors)"
	exit 2
}

row() {
	figure=$(tables "$1" 2>/tmp/errors) || fail "tables $1"
	echo "row $1 $figure"
}

sleep 5 # until the kernel is done with its boot
for name in $WITHOUT; do row "$name"; done
hls run /usr/tables/tables.kdl --engine kernel >/dev/null 2>/tmp/errors &
hls=$!
until hls ctl status >/dev/null 2>&1; do
	kill -0 $hls || fail "hls run"
	sleep 0.1
done
sleep 5
for name in $WITH; do row "$name"; done
kill -INT $hls
wait $hls
[ $? -le 1 ] || fail "hls run"
