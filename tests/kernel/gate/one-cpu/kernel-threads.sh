#!/bin/sh
# Promises are kept beside a thread of the kernel that never sleeps, requests are answered, the kernel thread has its
# part, and other kernel threads get on beside it. One CPU, in exact time.
. /usr/kernel/lib.sh

start /usr/kernel/ctl.kdl --slack $slack
answers
hogs 2
film=$(echo $hogs | cut -d" " -f1)
asks reserve "$film" "RESBH 10ms 33ms"
busy_kernel_thread
before=$(of "$film" ran_ns) kernels=$(ran "$kernel_thread")
sleep 5
had=$((($(of "$film" ran_ns) - before) / 1000000)) kernels=$(($(ran "$kernel_thread") - kernels))
broken=$(of "$film" broken)
echo "the reserved thread had $had ms of 1500, the kernel thread $kernels ms; $broken promises broken"
[ "$had" -ge 1500 ] || fail "the reserved thread had $had ms of 1500 ms"
[ "$broken" = 0 ] || fail "a promise broke"
[ "$kernels" -ge 2000 ] || fail "the kernel thread had $kernels ms, expected near half of 5000"
[ "$kernels" -le 3000 ] || fail "the kernel thread had $kernels ms, expected near half of 5000"

# Each writing here waits for the work of a kernel thread that has been woken for it.
for round in 1 2 3 4 5 6 7 8 9 10; do
	echo 1 >/proc/sys/vm/stat_refresh
done &
within 100 has_ended $! || fail "a kernel thread does not get on beside the one that never sleeps"
end_kernel_thread
end_hogs
stop
[ "$status" = 0 ] || fail "hls exited with $status"
