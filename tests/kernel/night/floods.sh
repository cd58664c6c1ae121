#!/bin/sh
# Users without rights do all that they can at once, for minutes: a promise is kept, root has its answers, and hls takes
# little of a CPU. In exact time on one CPU of 1,000 million instructions a second, and on two of half that speed that
# take turns; and on two that run at once, where the host decides how long everything takes: there root must be answered
# at all.
UNCHECKED=yes
. /usr/kernel/lib.sh
. /usr/kernel/floods.sh
# In exact time one of two CPUs stands still while it is the turn of the other.
[ "$(nproc)" = 1 ] || slack=5ms

echo 60000 >/proc/sys/kernel/threads-max
begin_floods 2000 4 4 3000 20 300
sleep 10
measure_floods "$FLOODS"
runs "after floods of $FLOODS s"
[ "$broken" = 0 ] || broke "a promise broke"
[ "$took" -lt 10 ] || broke "hls took $took % of a CPU"
[ "$us_of_99" -lt 100000 ] || broke "root waits for more than 100 ms"
end_floods
