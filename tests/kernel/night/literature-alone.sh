#!/bin/sh
# Each policy of the literature schedules a machine for some seconds, and keeps its promises, in an engine of its own.
# One CPU in exact time.
# Engine: background
# Engine: bss-i
# Engine: bvt
# Engine: cbs
# Engine: constant-utilisation-server
# Engine: deferrable-server
# Engine: eevdf
# Engine: grub
# Engine: least-slack
# Engine: linux
# Engine: linux-eevdf
# Engine: lottery
# Engine: polling-server
# Engine: pshed
# Engine: resource-kernel
# Engine: rialto
# Engine: rialto-nt
# Engine: sfq
# Engine: sfs
# Engine: sporadic-server
# Engine: spring
# Engine: stride
# Engine: tbs
# Engine: windows-2000
. /usr/kernel/lib.sh

for file in /usr/kernel/literature/*.kdl; do
	hls run --engine kernel --paranoid --slack 500us --for 3s "$file" >/tmp/report 2>/tmp/said
	[ $? = 0 ] || fail "$file: hls exited with $?"
	grep -q 'each of the [1-9][0-9]* times they were checked' /tmp/said || fail "the invariants were never checked"
	grep 'the engine has all policies' /tmp/said && fail "$file: no engine was built for it"
	echo "$(basename "$file" .kdl): $(tail -n 1 /tmp/report)"
done
