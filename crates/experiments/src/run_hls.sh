# Functions of the scripts that run hls in the test machine: to fail with the message of a program, to begin a
# hierarchy, and to wait for its end.

fail() {
	echo "$*: $(cat /tmp/errors)"
	exit 2
}

# fail_of_hls RUN: fails with the message of hls.
fail_of_hls() {
	cp /tmp/hls /tmp/errors
	fail "$1"
}

# begin FILE OPTION...: lets the hierarchy of FILE schedule this machine; its report goes to standard output.
begin() {
	hls run "$@" --engine kernel 2>/tmp/hls &
	hls=$!
	until hls ctl status >/dev/null 2>&1; do
		kill -0 $hls || fail_of_hls "hls run $1"
		sleep 0.1
	done
}

# await_end RUN: waits for the end of the hierarchy; where promises broke, `status` is 1.
await_end() {
	wait "$hls"
	status=$?
	[ $status -le 1 ] || fail_of_hls "$1"
}

