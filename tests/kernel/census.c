/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counts the threads of the machine against those that the engine of `hls run` knows, each second: `census RUN KEEPER
 * SECONDS`, where RUN is the process of the run and KEEPER the process of its keeper; for tests, as root, by a
 * real-time thread, which no hierarchy can hold up.
 *
 * Reads /proc, then the domain through the memory of the run, then /proc again, for threads come and go meanwhile. Each
 * thread that was there both times must be in the domain, once, with its process; nothing may be in the domain, and
 * missing from /proc, in LOST_AFTER censuses in a row; and no thread may want a CPU that long without having one, nor
 * may an errand, or a CPU that has gone or is back, wait that long for a timer, or a VP without a thread stay. In a
 * virtual machine the host may stop a CPU for seconds, and threads that wait for that CPU wait for the host: a census
 * counts for waits only if every CPU has given threads turns since the census before.
 * Prints how many threads were counted how often; exit status 1: one is missing or lost, 3: hls has gone.
 */
#include "bpf/domain.h"
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AT(member) (DOMAIN_AT + offsetof(struct engine_domain, member))
#define LOST_AFTER 10
#define TURNS 10 /* that each CPU has given threads between two censuses, unless the host stops it */
#define MOST 20000
#define IS_KERNEL_THREAD 0x00200000 /* PF_KTHREAD */

struct seen {
	unsigned tid, tgid;
	unsigned long long since;  /* ticks since the boot: no other thread has the same TID and this */
	unsigned long long had_ns; /* CPU time */
	char state;
	int waits; /* for how many censuses it has wanted a CPU and had none */
};

/*
 * All threads of user space except the keeper's, which have no VPs: before and after the domain was read, and in the
 * census before.
 */
static struct census {
	struct seen seen[MOST];
	int number;
} first, second, earlier;

static struct engine_thread entries[HLS_MAX_VPS];
static vp_t vps[HLS_MAX_VPS];
static int unlisted[HLS_MAX_VPS]; /* for how many censuses the thread of a VP was in no list of /proc */
static int undone[HLS_MAX_VPS];   /* for how many there were errands about it */
static int kept[HLS_MAX_VPS];     /* for how many it was there without a thread or errands */
static int noted[HLS_MAX_CPUS];   /* for how many a CPU had gone, or was back, and the core had not heard of it */
static unsigned keeper;
static unsigned long long turns[HLS_MAX_CPUS]; /* that each CPU had given threads at the census before */
static int all_cpus_run;                       /* whether all have gone on since then */

static struct seen *find(struct census *census, unsigned tid)
{
	int from = 0, to = census->number;

	while (from < to) {
		int middle = (from + to) / 2;
		if (census->seen[middle].tid < tid)
			from = middle + 1;
		else
			to = middle;
	}
	return from < census->number && census->seen[from].tid == tid ? &census->seen[from] : NULL;
}

static int by_tid(const void *one, const void *other)
{
	const struct seen *a = one, *b = other;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int read_file(unsigned tgid, unsigned tid, const char *name, char *text, size_t size)
{
	char path[80];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", tgid, tid, name);
	int file = open(path, O_RDONLY);
	if (file < 0)
		return 0;
	length = read(file, text, size - 1);
	close(file);
	if (length <= 0)
		return 0;
	text[length] = 0;
	return 1;
}

/* CPU time before state: a thread that ran between the two readings has not waited, whatever its state. */
static void look_at(struct census *census, unsigned tgid, unsigned tid)
{
	char text[1024], *fields;
	unsigned flags;
	struct seen *seen = &census->seen[census->number];

	*seen = (struct seen){.tid = tid, .tgid = tgid};
	if (census->number == MOST - 1 || !read_file(tgid, tid, "schedstat", text, sizeof(text)))
		return;
	seen->had_ns = strtoull(text, NULL, 10);
	if (!read_file(tgid, tid, "stat", text, sizeof(text)) || !(fields = strrchr(text, ')')))
		return;
	if (sscanf(fields, ") %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &seen->state, &flags, &seen->since) == 3 &&
	    !(flags & IS_KERNEL_THREAD))
		census->number++;
}

static void take(struct census *census)
{
	DIR *processes = opendir("/proc");

	census->number = 0;
	for (struct dirent *process; (process = readdir(processes));) {
		unsigned tgid = (unsigned)atoi(process->d_name);
		char path[80];

		snprintf(path, sizeof(path), "/proc/%u/task", tgid);
		DIR *threads = tgid && tgid != keeper ? opendir(path) : NULL;
		if (!threads)
			continue;
		for (struct dirent *thread; (thread = readdir(threads));)
			if (atoi(thread->d_name))
				look_at(census, tgid, (unsigned)atoi(thread->d_name));
		closedir(threads);
	}
	closedir(processes);
	qsort(census->seen, (size_t)census->number, sizeof(census->seen[0]), by_tid);
}

static int lives(const struct seen *seen)
{
	return seen->state != 'Z' && seen->state != 'X';
}

static int same(const struct seen *one, const struct seen *other)
{
	return one && other && one->tid == other->tid && one->since == other->since;
}

static int report(const char *what, unsigned tid, unsigned tgid, const char *more, long number)
{
	char comm[32] = "?\n";

	read_file(tgid, tid, "comm", comm, sizeof(comm));
	comm[strcspn(comm, "\n")] = 0;
	printf("%s: thread %u of process %u (%s)%s %ld\n", what, tid, tgid, comm, more, number);
	return 1;
}

/* Whether a thread that was there before and after the domain was read is not in the domain, once. */
static int is_missing(const struct seen *seen, unsigned used)
{
	unsigned found = 0;

	for (unsigned v = 1; v <= used; v++)
		found += entries[v].pid == seen->tid && entries[v].tgid == seen->tgid;
	return found != 1 && report("MISSING", seen->tid, seen->tgid, ": VPs", found);
}

/* Whether every CPU that is online has given threads enough turns since the last call. */
static int have_all_cpus_run(void)
{
	FILE *file = fopen("/proc/schedstat", "r");
	char line[512];
	int all = 1;

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long now;
		unsigned cpu;

		if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &now) != 2 ||
		    cpu >= HLS_MAX_CPUS)
			continue;
		all = all && now >= turns[cpu] + TURNS;
		turns[cpu] = now;
	}
	if (file)
		fclose(file);
	return file && all;
}

static int is_lost(struct seen *seen)
{
	const struct seen *before = find(&earlier, seen->tid);
	int waits = same(seen, before) && seen->state == 'R' && seen->had_ns == before->had_ns;

	seen->waits = waits ? before->waits + all_cpus_run : 0;
	return seen->waits >= LOST_AFTER &&
	       report("LOST", seen->tid, seen->tgid, ", censuses for which it has waited:", seen->waits);
}

/* Whether the thread of a VP is in no list of /proc, for so long that it cannot be one that is still being forked. */
static int is_left_over(unsigned v)
{
	const struct engine_thread *entry = &entries[v];

	if (!entry->pid || find(&first, entry->pid) || find(&second, entry->pid)) {
		unlisted[v] = 0;
		return 0;
	}
	return ++unlisted[v] >= LOST_AFTER && report("LEFT OVER", entry->pid, entry->tgid, ": VP", v);
}

/* Whether what must end soon has lasted for too many censuses. */
static int lasts(int *censuses, int is_so, const char *what, const char *name, unsigned number)
{
	*censuses = is_so ? *censuses + all_cpus_run : 0;
	if (*censuses < LOST_AFTER)
		return 0;
	printf("%s: %s %u for %d censuses\n", what, name, number, *censuses);
	return 1;
}

/* Whether errands about a VP are not done, or a VP stays without a thread. */
static int is_forgotten(unsigned v)
{
	const struct engine_thread *entry = &entries[v];
	int is_nobodys = (vps[v].flags & HLS_USED) && vps[v].parent && !vps[v].child && !entry->pid;

	return lasts(&undone[v], entry->errands, "UNDONE: errands about", "VP", v) ||
	       lasts(&kept[v], is_nobodys && !entry->errands, "NOT GIVEN BACK", "VP", v);
}

/* How many CPUs have gone, or are back, without the core being told. */
static int count_untold(int memory)
{
	u64 gone = 0, back = 0;
	int wrong = 0;

	if (pread(memory, &gone, sizeof(gone), AT(cpus_gone)) != sizeof(gone) ||
	    pread(memory, &back, sizeof(back), AT(cpus_back)) != sizeof(back))
		return 0;
	for (unsigned cpu = 0; cpu < HLS_MAX_CPUS; cpu++)
		wrong += lasts(&noted[cpu], (gone | back) >> cpu & 1, "UNTOLD", "CPU", cpu);
	return wrong;
}

/* One census: how many of the threads are not as they must be; -1: hls has gone. */
static int count(int memory)
{
	unsigned used = 0;
	int wrong = 0;

	all_cpus_run = have_all_cpus_run();
	take(&first);
	if (pread(memory, &used, sizeof(used), AT(hls.used_vps)) != sizeof(used) || used >= HLS_MAX_VPS)
		return -1;
	if (pread(memory, entries, (used + 1) * sizeof(entries[0]), AT(thread)) !=
	    (ssize_t)((used + 1) * sizeof(entries[0])))
		return -1;
	if (pread(memory, vps, (used + 1) * sizeof(vps[0]), AT(hls.vp)) != (ssize_t)((used + 1) * sizeof(vps[0])))
		return -1;
	take(&second);
	for (int i = 0; i < second.number; i++) {
		struct seen *seen = &second.seen[i];
		if (lives(seen) && same(seen, find(&first, seen->tid)))
			wrong += is_missing(seen, used) + is_lost(seen);
	}
	for (unsigned v = 1; v <= used; v++)
		wrong += is_left_over(v) + is_forgotten(v);
	wrong += count_untold(memory);
	earlier = second;
	return wrong;
}

int main(int argc, char **argv)
{
	char path[64];
	int wrong = 0, censuses = 0, most = 0;

	if (argc != 4)
		return 2;
	keeper = (unsigned)atoi(argv[2]);
	snprintf(path, sizeof(path), "/proc/%s/mem", argv[1]);
	int memory = open(path, O_RDONLY);
	if (memory < 0)
		return 3;
	for (time_t end = time(NULL) + atoi(argv[3]); !wrong && time(NULL) < end; sleep(1)) {
		wrong = count(memory);
		censuses++;
		most = second.number > most ? second.number : most;
	}
	printf("%d censuses of up to %d threads\n", censuses, most);
	return wrong < 0 ? 3 : wrong > 0;
}
