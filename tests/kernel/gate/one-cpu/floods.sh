#!/bin/sh
# Users without rights do all that they can at once: root is answered all the same, and a promise is kept. One CPU, in
# exact time; night/floods.sh has more of it.
UNCHECKED=yes
. /usr/kernel/lib.sh
. /usr/kernel/floods.sh

begin_floods 300 2 0 300 5 30
sleep 5
measure_floods 15
[ "$had" -ge 4500 ] || fail "the reserved thread had $had ms of 4545"
[ "$broken" = 0 ] || fail "a promise broke"
[ "$took" -lt 10 ] || fail "hls took $took % of a CPU"
# Ten questions a second, less the time that each takes.
[ "$answered" -ge 40 ] || fail "root had $(cat /tmp/asked)"
[ "$(us_at_worst)" -lt 500000 ] || fail "root had $(cat /tmp/asked)"
end_floods
