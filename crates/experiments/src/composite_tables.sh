# Measures the rows of composite-tables in the test machine: first those that need no hls, then the others under it.
# Prints lines `row ROW INSTRUCTIONS`. Relies on run_hls.sh, on WITHOUT and WITH, the rows, and on the program `tables`.
set -u

row() {
	figure=$(tables "$1" 2>/tmp/errors) || fail "tables $1"
	echo "row $1 $figure"
}

sleep 5 # until the kernel is done with its boot
for name in $WITHOUT; do row "$name"; done
begin /usr/tables/tables.kdl >/dev/null
sleep 5
for name in $WITH; do row "$name"; done
kill -INT $hls
await_end "hls run"
