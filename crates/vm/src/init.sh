#!/bin/busybox sh
# The first process of the guest: mounts what a small machine needs, runs the scripts, sends the files in $OUT.
#
# Relies on busybox, and on three serial ports: ttyS0 has the kernel's log, ttyS1 what the scripts print, ttyS2 the
# content of $OUT as a packed archive. The output of a script stands between a record separator with its name and a
# unit separator with its exit status and the seconds since the boot at its begin and its end; a group separator follows
# when the archive has been sent. crates/vm puts the calls of `run`, one a script, in the place of RUN.
/bin/busybox --install -s /bin
export PATH=/usr/local/bin:/bin HOME=/ TERM=dumb OUT=/out

mkdir -p "$OUT" /proc /sys /dev /tmp /run /etc
echo 'root:x:0:0:root:/:/bin/sh' >>/etc/passwd
echo 'root:x:0:' >>/etc/group
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs tmp /dev/shm
mount -t tmpfs tmp /tmp
mount -t tmpfs tmp /run
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing
ln -s /proc/self/fd /dev/fd
hostname vm
ip link set lo up
stty -F /dev/ttyS1 raw
stty -F /dev/ttyS2 raw

# Marks are printed by `echo`, which tries again when the end of a child interrupts it; busybox's `printf` loses them.
# Level 4 reaches the console, so that the kernel's log says during which script the kernel complained.
run() {
	echo "<4>hls-vm: $1" >/dev/kmsg
	echo -e "\0036$1"
	read -r began _ </proc/uptime
	(cd / && exec "/usr/scripts/$1") </dev/null
	status=$?
	# Ends all other processes: if a failed script leaves some, they would make the next scripts fail, too.
	kill -9 -1 2>/dev/null
	[ "$status" = 0 ] || echo "<4>hls-vm: FAILED: $1 exited with $status" >/dev/kmsg
	read -r ended _ </proc/uptime
	echo -e "\0037$status $began $ended"
}

exec >/dev/ttyS1 2>&1
RUN
tar -C "$OUT" -czf /dev/ttyS2 .
# Setting a port waits until all that was written to it has been sent: only then may the power go off.
stty -F /dev/ttyS2 raw
echo -ne '\0035'
stty -F /dev/ttyS1 raw
poweroff -f
