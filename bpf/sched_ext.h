/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of the kernel's sched_ext that the engine uses: its operations, its functions, and what we read of a thread
 * and of a run queue.
 */
#ifndef HLS_BPF_SCHED_EXT_H
#define HLS_BPF_SCHED_EXT_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {
	unsigned long bits[1];
};

struct sched_ext_entity {
	unsigned int flags;
	u64 slice;
	u64 dsq_vtime;
};

struct sched_entity {
	u64 exec_start, sum_exec_runtime;
};

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct signal_struct {
	unsigned int flags;
};

typedef struct {
	s64 counter;
} atomic_long_t;

struct mutex {
	atomic_long_t owner;
};

struct semaphore {
	unsigned long last_holder;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct thread_struct {
	unsigned long sp; /* the stack pointer, while the thread is on no CPU; on x86 */
};

struct task_struct {
	unsigned int __state;
	unsigned long jobctl;
	unsigned int flags;
	int pid, tgid;
	unsigned int on_rq;
	int static_prio;
	unsigned int policy;
	const struct cred *real_cred;
	struct signal_struct *signal;
	unsigned short migration_disabled;
	int rcu_read_lock_nesting; /* there only if RCU is preemptible */
	const struct cpumask *cpus_ptr;
	unsigned long blocker; /* the lock for which it sleeps; not in all kernels */
	char comm[16];
	struct sched_entity se;
	struct sched_ext_entity scx;
	struct thread_struct thread;
};

struct rq;

struct balance_callback {
	void (*func)(struct rq *rq);
};

struct rq {
	u64 clock, clock_task;
	const struct balance_callback *balance_callback;
};

struct kernfs_iattrs {
	kuid_t ia_uid;
};

struct kernfs_node {
	u64 id;
	struct kernfs_iattrs *iattr; /* NULL: the file is root's */
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;
};

struct scx_cgroup_init_args {
	u32 weight;
};

struct scx_exit_task_args {
	bool cancelled;
};

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_dump_ctx {
	enum scx_exit_kind kind;
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	const char *reason;
	char *msg;
};

#pragma clang attribute pop

/* The operations that we have; libbpf matches them with the kernel's by name. */
struct sched_ext_ops {
	int (*select_cpu)(struct task_struct *p, int prev_cpu, u64 flags);
	void (*enqueue)(struct task_struct *p, u64 flags);
	void (*dispatch)(int cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*quiescent)(struct task_struct *p, u64 flags);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *mask);
	void (*cpu_online)(int cpu);
	void (*cpu_offline)(int cpu);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	int (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*dump)(struct scx_dump_ctx *about);
	int (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	unsigned int timeout_ms;
	char name[128];
	/*
	 * Last, those that only kernels with CONFIG_EXT_GROUP_SCHED have: elsewhere user space takes them out before it
	 * loads the object (crates/kernel-engine/src/object.rs).
	 */
	int (*cgroup_init)(struct cgroup *cgroup, struct scx_cgroup_init_args *args);
	void (*cgroup_exit)(struct cgroup *cgroup);
	void (*cgroup_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_set_weight)(struct cgroup *cgroup, u32 weight);
};

/* Constants; the loader takes their values from the running kernel. */
enum scx_enq_flags { SCX_ENQ_WAKEUP = 1, SCX_ENQ_PREEMPT = 1ULL << 32 };
enum scx_deq_flags { SCX_DEQ_SLEEP = 1 };
enum scx_kick_flags { SCX_KICK_PREEMPT = 1ULL << 1 };
#define KERNEL(type, name) __builtin_preserve_enum_value(*(typeof(enum type) *)name, 1)

/* These are part of sched_ext's stable interface. */
#define SCX_DSQ_LOCAL 0x8000000000000002ULL
#define SCX_DSQ_LOCAL_ON 0xc000000000000000ULL
#define SCX_OPS_ENQ_LAST (1ULL << 1)
#define SCX_OPS_ENQ_EXITING (1ULL << 2)
#define SCX_OPS_ENQ_MIGRATION_DISABLED (1ULL << 4)
#define SCX_TASK_QUEUED 1 /* of a thread's sched_ext flags: it is runnable */
#define PF_KTHREAD 0x00200000

/* libbpf looks for the name up to the last three underscores: the kernel's own ends in ___v2. */
bool scx_bpf_dsq_insert___v2___hls(struct task_struct *p, u64 dsq, u64 slice, u64 flags) __ksym;
#define insert scx_bpf_dsq_insert___v2___hls
bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) __ksym;
void scx_bpf_kick_cpu(int cpu, u64 flags) __ksym;
int scx_bpf_create_dsq(u64 dsq, int node) __ksym;
bool scx_bpf_dsq_move_to_local(u64 dsq) __ksym;
struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *threads, u64 dsq, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *threads) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *threads) __ksym;
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *threads, struct task_struct *p, u64 dsq, u64 flags) __ksym;
u64 scx_bpf_now(void) __ksym;
bool scx_bpf_task_running(const struct task_struct *p) __ksym;
void scx_bpf_error_bstr(char *format, unsigned long long *data, u32 bytes) __ksym;
struct task_struct *bpf_task_acquire(struct task_struct *p) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;
struct task_struct *bpf_task_from_pid(int pid) __ksym;
struct task_struct *scx_bpf_cpu_curr(int cpu) __ksym;
int scx_bpf_select_cpu_dfl(struct task_struct *p, int prev_cpu, u64 wake_flags, bool *is_idle) __ksym;
int scx_bpf_task_cpu(const struct task_struct *p) __ksym;
const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym;
void scx_bpf_put_cpumask(const struct cpumask *mask) __ksym;
struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));
enum { BPF_TASK_ITER_PROC_THREADS = 2 };
int bpf_iter_task_new(struct bpf_iter_task *threads, struct task_struct *p, unsigned int which) __ksym;
struct task_struct *bpf_iter_task_next(struct bpf_iter_task *threads) __ksym;
void bpf_iter_task_destroy(struct bpf_iter_task *threads) __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;
void bpf_local_irq_save(unsigned long *flags) __ksym;
void bpf_local_irq_restore(unsigned long *flags) __ksym;
extern const struct rq runqueues __ksym;
/*
 * Two functions that are never called: what counts is their addresses. They are looked up in the kernel's BTF. The list
 * of the kernel's addresses, where data is looked up, may be hidden (kernel.kptr_restrict), and takes long to read.
 */
void balance_push(
    struct rq *rq) __ksym __weak;         /* a run queue calls it while the kernel pushes all threads off its CPU */
void __rcu_read_lock(void) __ksym __weak; /* there only if RCU is preemptible */

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));
enum { CLOCK_MONOTONIC = 1 };
enum { BPF_F_TIMER_CPU_PIN = 2 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

/* Helpers, by their numbers in the kernel's interface. */
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static long (*const bpf_ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static void *(*const bpf_per_cpu_ptr)(const void *variable, u32 cpu) = (void *)153;
static void *(*const bpf_this_cpu_ptr)(const void *variable) = (void *)154;
static void *(*const bpf_task_pt_regs)(struct task_struct *p) = (void *)175;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *p, void *value, u64 flags) = (void *)156;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, u64 clock) = (void *)169;
static long (*const bpf_tail_call)(void *ctx, void *map, u32 index) = (void *)12;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_timer_start)(struct bpf_timer *timer, u64 ns, u64 flags) = (void *)171;
static void *(*const bpf_kptr_xchg)(void *slot, void *pointer) = (void *)194;

/* Marks a member of a map's value that holds a reference to a kernel object. */
#define __kptr __attribute__((btf_type_tag("kptr")))

#endif
