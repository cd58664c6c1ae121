//! What the kernel does between the engine's operations: `kernel/sched/ext.c` and `kernel/sched/core.c`, as far as it
//! decides which queue a thread is in. A function's name in a comment is the kernel's.

use crate::glue::engine::Engine;
use crate::glue::state::{CPUS, Life, Lock, Part, Place, Section, State};
use hls_core::CoreVp;

/// Whether a CPU can do a part now: whether the locks that the part waits for are free.
pub(crate) fn is_enabled(state: &State, cpu: usize, part: Part) -> bool {
    let is_free = |queue: usize| state.cpus[queue].run_queue_held_by.is_none_or(|holder| holder == cpu);
    match part {
        Part::LockRunQueueOf(task) => {
            let it = &state.tasks[task];
            // task_rq_lock waits for a thread that is being moved.
            let is_moved_by_other = matches!(it.place, Place::Moving(by) if by != cpu);
            is_free(it.run_queue) && !is_moved_by_other
        }
        Part::Lock(_) => !matches!(state.lock, Lock::Held(_)),
        Part::FinishInsert(task, is_valid, _) => {
            let it = &state.tasks[task];
            match it.place {
                // Waits for the end of the enqueueing, or for the other run queue's lock: without its own.
                Place::Queueing if is_valid => holds(state, cpu),
                Place::WithEngine if is_valid && !is_free(it.run_queue) => holds(state, cpu),
                _ => is_free(cpu),
            }
        }
        _ => true,
    }
}

/// Whether a part concerns no other CPU: because its CPU does it under the lock of its run queue, or to a thread that
/// no other CPU knows; or because it only releases a lock, or looks whether there is anything to take it for.
pub(crate) fn is_private(part: Part) -> bool {
    matches!(
        part,
        Part::Balance(_)
            | Part::AfterDispatch(..)
            | Part::Pick
            | Part::SetSlice(_)
            | Part::Blocked(..)
            | Part::Requeue(_)
            | Part::Wake(_)
            | Part::StoreVp(..)
            | Part::Enable(_)
            | Part::LeaveClass(_)
            | Part::JoinClass(_)
            | Part::EndRunFor(_)
            | Part::DoErrands(_)
            | Part::ChangeNotedCpus
            | Part::UnlockRunQueue
    )
}

fn holds(state: &State, cpu: usize) -> bool {
    state.cpus[cpu].run_queue_held_by == Some(cpu)
}

impl Engine<'_> {
    /// Does the next part of what a CPU is about to do. An error says what is broken.
    pub(crate) fn go(&mut self, cpu: usize) -> Result<(), String> {
        let Some(part) = self.state.cpus[cpu].todo.pop() else { return Ok(()) };
        match part {
            Part::Lock(section) => self.lock(cpu, section),
            Part::Do(section) => return self.section(cpu, section),
            Part::Kick(cpus) => return self.kick_all(cpu, cpus),
            Part::DoErrands(done) => self.do_errands(cpu, done),
            Part::ChangeNotedCpus => self.change_noted_cpus(cpu),
            Part::TakeOverTimer(on) => self.take_over_timer(on),
            Part::Seal => self.seal(),
            Part::Signal(task) => self.signal(cpu, task),
            Part::LookAtUrgent(task) => self.look_at_urgent(cpu, task),
            Part::FindHolder(task) => self.find_holder(cpu, task),
            Part::Rescue(task) => return self.rescue(cpu, self.state.tasks[task].stored),
            Part::RescueStranded => return self.rescue_stranded(cpu),
            Part::Running(task) => self.running(cpu, task),
            Part::LockRunQueueOf(task) => self.lock_run_queue_of(cpu, task),
            Part::UnlockRunQueue => self.unlock_run_queues(cpu),
            Part::Balance(before) => self.balance(cpu, before),
            Part::AfterDispatch(before, has_inserted) => self.after_dispatch(cpu, before, has_inserted),
            Part::Pick => self.pick(cpu),
            Part::Insert(task) => self.insert(cpu, task, cpu),
            Part::InsertIfAllowed(task) if self.state.may_use(task, cpu) => {
                self.state.next(cpu, &[Part::Insert(task)]);
            }
            Part::InsertIfAllowed(_) => {}
            Part::FinishInsert(task, is_valid, on) => return self.finish_insert(cpu, task, is_valid, on),
            Part::SetSlice(task) => self.state.tasks[task].has_slice = true,
            Part::Blocked(task, dies) => self.block(cpu, task, dies),
            Part::Forget(task) => self.forget(task),
            Part::Dequeue(task) => self.dequeue(cpu, task),
            Part::Affine(task, cpus) => self.affine(cpu, task, cpus),
            Part::Requeue(task) => self.requeue(cpu, task),
            Part::Wake(task) if self.state.tasks[task].place == Place::Asleep => {
                self.state.next(cpu, &[Part::Enqueue(task)]);
            }
            Part::Wake(_) => {}
            // sched_ext hears nothing of a thread that has been forgotten (task_dead_and_done).
            Part::LeaveClass(task) | Part::JoinClass(task) if self.state.tasks[task].life == Life::Absent => {
            }
            Part::LeaveClass(task) => self.put_into_other_class(cpu, task),
            Part::JoinClass(task) => self.put_back_into_class(cpu, task),
            Part::EndRunFor(task) => self.end_run_for(cpu, task),
            Part::Move(task) => self.move_queued(cpu, task),
            Part::Enqueue(task) => self.enqueue_task(cpu, task),
            Part::Enqueued(task) => self.enqueued(task),
            Part::InsertOn(task, on) => self.insert_on(task, on),
            Part::StoreVp(..) | Part::KeepTask(..) | Part::DropTask(_) | Part::Enable(_) => {
                return self.outside(part);
            }
        }
        Ok(())
    }

    /// task_rq_lock. A thread that is asleep is woken on a run queue that it may be on (select_task_rq).
    fn lock_run_queue_of(&mut self, cpu: usize, task: usize) {
        let chosen = self.state.queue_for(task);
        let it = &mut self.state.tasks[task];
        let is_on_none = matches!(it.place, Place::Asleep | Place::Away) && it.life == Life::Alive;
        if is_on_none && !it.is_bound && chosen != Some(it.run_queue) {
            // On the way to another run queue's lock. Where there is none, select_fallback_rq gives it all CPUs.
            match chosen {
                Some(queue) => it.run_queue = queue,
                None => it.cpus = (1 << CPUS) - 1,
            }
            let is_told = chosen.is_none() && !it.is_away;
            let tell = is_told.then_some(Part::Lock(Section::ChangeAffinity(task)));
            let parts = tell.into_iter().chain([Part::LockRunQueueOf(task)]);
            self.state.next(cpu, &parts.collect::<Vec<_>>());
            return;
        }
        let queue = it.run_queue;
        self.state.cpus[queue].run_queue_held_by = Some(cpu);
    }

    fn unlock_run_queues(&mut self, cpu: usize) {
        for queue in &mut self.state.cpus {
            if queue.run_queue_held_by == Some(cpu) {
                queue.run_queue_held_by = None;
            }
        }
    }

    /// __schedule, from the run queue's lock on.
    pub(crate) fn schedule(&mut self, cpu: usize) {
        let it = &mut self.state.cpus[cpu];
        it.resched = false;
        it.run_queue_held_by = Some(cpu);
        let before = it.current;
        self.state.next(cpu, &[Part::Balance(before)]);
    }

    /// balance_one, up to the engine's dispatch.
    fn balance(&mut self, cpu: usize, before: Option<usize>) {
        if before.is_some_and(|before| self.state.tasks[before].has_slice) {
            self.state.next(cpu, &[Part::UnlockRunQueue]);
        } else if !self.state.cpus[cpu].local.is_empty() || self.state.cpus[cpu].is_leaving {
            self.put_and_pick(cpu, before);
        } else if let Some(task) = self.state.first_of_all(cpu) {
            self.put_into_local(task, cpu); // consume_global_dsq
            self.put_and_pick(cpu, before);
        } else if self.state.is_ending {
            self.put_and_pick(cpu, before); // scx_rq_bypassing
        } else {
            let parts = [Part::Lock(Section::Dispatch(before)), Part::AfterDispatch(before, false)];
            self.state.next(cpu, &parts);
        }
    }

    /// balance_one, behind the engine's dispatch and what was inserted there.
    fn after_dispatch(&mut self, cpu: usize, before: Option<usize>, has_inserted: bool) {
        if has_inserted {
            self.balance(cpu, before);
        } else if before.is_some_and(|before| self.state.tasks[before].has_slice) {
            self.state.next(cpu, &[Part::UnlockRunQueue]);
        } else {
            self.put_and_pick(cpu, before);
        }
    }

    /// put_prev_task_scx and set_next_task_scx.
    fn put_and_pick(&mut self, cpu: usize, before: Option<usize>) {
        self.state.cpus[cpu].current = None;
        self.state.next(cpu, &[Part::Pick]);
        if let Some(before) = before {
            self.state.next(cpu, &[Part::Enqueue(before)]);
        }
    }

    fn pick(&mut self, cpu: usize) {
        if self.state.cpus[cpu].local.is_empty() {
            self.state.next(cpu, &[Part::UnlockRunQueue]);
            return;
        }
        let task = self.state.cpus[cpu].local.remove(0);
        self.state.cpus[cpu].current = Some(task);
        self.state.tasks[task].place = Place::Current(cpu);
        self.state.tasks[task].is_refilled = false;
        self.state.next(cpu, &[Part::Running(task), Part::UnlockRunQueue]);
    }

    /// scx_bpf_dsq_insert in ops.dispatch: into a buffer, with the number of the thread's enqueueing (qseq).
    pub(crate) fn insert(&mut self, cpu: usize, task: usize, on: usize) {
        let is_valid = matches!(self.state.tasks[task].place, Place::WithEngine | Place::Queueing);
        self.state.tasks[task].has_slice = true;
        self.state.tasks[task].is_refilled = matches!(self.state.tasks[task].place, Place::Current(_));
        let todo = &mut self.state.cpus[cpu].todo;
        let behind = todo.iter().rposition(|part| matches!(part, Part::AfterDispatch(..)));
        if let Some(at) = behind {
            if let Part::AfterDispatch(_, has_inserted) = &mut todo[at] {
                *has_inserted = true;
            }
            todo.insert(at + 1, Part::FinishInsert(task, is_valid, on));
        }
    }

    /// finish_dispatch and dispatch_to_local_dsq. To wait for another run queue's lock, the CPU releases its own.
    fn finish_insert(&mut self, cpu: usize, task: usize, is_valid: bool, on: usize) -> Result<(), String> {
        let it = self.state.tasks[task];
        if !is_valid || !matches!(it.place, Place::WithEngine | Place::Queueing) {
            self.state.cpus[cpu].run_queue_held_by = Some(cpu);
            return Ok(());
        }
        let is_locked = self.state.cpus[it.run_queue].run_queue_held_by.is_some_and(|holder| holder != cpu);
        if it.place == Place::Queueing || is_locked {
            self.state.cpus[cpu].run_queue_held_by = None;
            self.state.next(cpu, &[Part::FinishInsert(task, true, on)]);
            return Ok(());
        }
        self.state.cpus[cpu].run_queue_held_by = Some(cpu);
        self.allowed(task, on)?;
        self.put_into_local(task, on);
        Ok(())
    }

    /// task_can_run_on_remote_rq; its refusal ends the run.
    fn allowed(&self, task: usize, cpu: usize) -> Result<(), String> {
        let is_remote = self.state.tasks[task].run_queue != cpu;
        if is_remote && !self.state.may_use(task, cpu) {
            return Err(format!(
                "thread {task} is inserted for CPU {cpu}, which it may not use: the kernel ends the run"
            ));
        }
        Ok(())
    }

    fn put_into_local(&mut self, task: usize, cpu: usize) {
        let it = &mut self.state.tasks[task];
        it.place = Place::Local(cpu);
        it.run_queue = cpu;
        it.has_slice = true;
        self.state.forget_inserts(task);
        let on = &mut self.state.cpus[cpu];
        on.local.push(task);
        on.resched |= on.current.is_none();
    }

    /// enqueue_task_scx and do_enqueue_task.
    fn enqueue_task(&mut self, cpu: usize, task: usize) {
        let it = &mut self.state.tasks[task];
        let queue = it.run_queue;
        if it.is_away {
            it.place = Place::Away; // enqueue_task_rt, say.
            return;
        }
        if self.state.cpus[queue].is_leaving || self.state.is_ending {
            self.put_into_local(task, queue); // scx_rq_online is false, or it bypasses: the engine is not asked.
            return;
        }
        self.state.tasks[task].place = Place::Queueing;
        self.state.forget_inserts(task);
        self.state.next(cpu, &[Part::Lock(Section::Enqueue(task)), Part::Enqueued(task)]);
    }

    fn enqueued(&mut self, task: usize) {
        let it = &mut self.state.tasks[task];
        if it.place == Place::Queueing {
            it.place = Place::WithEngine;
        }
    }

    /// direct_dispatch: at once for the run queue at hand, with its lock held; else deferred until the lock is
    /// released.
    fn insert_on(&mut self, task: usize, on: usize) {
        if self.state.tasks[task].run_queue == on {
            self.put_into_local(task, on);
        } else {
            self.state.tasks[task].place = Place::Deferred(on);
            self.state.forget_inserts(task);
        }
    }

    /// process_ddsp_deferred_locals.
    pub(crate) fn run_deferred(&mut self, task: usize) -> Result<(), String> {
        let Place::Deferred(on) = self.state.tasks[task].place else { return Ok(()) };
        self.allowed(task, on)?;
        if self.state.cpus[on].is_leaving {
            self.state.tasks[task].place = Place::Global;
        } else {
            self.put_into_local(task, on);
        }
        Ok(())
    }

    fn block(&mut self, cpu: usize, task: usize, dies: bool) {
        self.state.tasks[task].place = Place::Asleep;
        self.state.cpus[cpu].current = None;
        if dies {
            self.state.tasks[task].life = Life::Dead;
        }
    }

    /// The thread's entry may be another thread's.
    fn forget(&mut self, task: usize) {
        for cpu in self.state.cpus.iter_mut().filter(|cpu| cpu.current == Some(task)) {
            cpu.current = None;
        }
        let it = &mut self.state.tasks[task];
        it.place = Place::Asleep;
        it.is_away = false;
        it.life = Life::Absent;
        it.vtime = CoreVp::NONE;
        it.stored = CoreVp::NONE;
        it.has_slice = false;
        it.run_queue = 0;
        it.cpus = (1 << CPUS) - 1;
        it.incarnation += 1;
    }

    fn take_out(&mut self, cpu: usize, task: usize) {
        self.state.cpus.iter_mut().for_each(|on| on.local.retain(|queued| *queued != task));
        self.state.tasks[task].place = Place::Moving(cpu);
        self.state.forget_inserts(task);
    }

    /// dequeue_task_scx, for a change of properties (DEQUEUE_SAVE).
    fn dequeue(&mut self, cpu: usize, task: usize) {
        if is_queued(self.state.tasks[task].place) {
            self.take_out(cpu, task);
            self.state.next(cpu, &[Part::Lock(Section::LeaveQueue(task))]);
        }
    }

    /// set_cpus_allowed_scx, which calls no operation for a thread that has ended (task_dead_and_done); or another
    /// class's function, which calls none of ours.
    fn affine(&mut self, cpu: usize, task: usize, cpus: u8) {
        let it = &mut self.state.tasks[task];
        if it.life != Life::Alive {
            return;
        }
        it.cpus = cpus;
        self.state.next(cpu, &[Part::Requeue(task)]);
        let it = &self.state.tasks[task];
        // hls_set_cpumask, bpf/engine.bpf.c
        if !it.is_away && matches!(it.place, Place::Current(_) | Place::Asleep) {
            self.state.next(cpu, &[Part::Lock(Section::ChangeAffinity(task))]);
        }
    }

    /// The end of do_set_cpus_allowed, and affine_move_task.
    fn requeue(&mut self, cpu: usize, task: usize) {
        match self.state.tasks[task].place {
            Place::Moving(_) => self.state.next(cpu, &[Part::Enqueue(task), Part::Move(task)]),
            Place::Current(_) if self.state.tasks[task].is_away => {}
            Place::Current(_) => self.state.next(cpu, &[Part::Running(task)]),
            _ => {}
        }
    }

    /// Behind the dequeueing: the thread is enqueued in the other class, or goes on there (check_class_changed).
    fn put_into_other_class(&mut self, cpu: usize, task: usize) {
        let it = &mut self.state.tasks[task];
        it.is_away = true;
        it.vtime = CoreVp::NONE;
        if matches!(it.place, Place::Moving(_)) {
            it.place = Place::Away;
        }
        self.state.next(cpu, &[Part::Lock(Section::LeaveClass(task))]);
    }

    /// switching_to_scx; a thread that has a CPU goes on there, and one that wants one is enqueued.
    fn put_back_into_class(&mut self, cpu: usize, task: usize) {
        self.state.tasks[task].is_away = false;
        match self.state.tasks[task].place {
            Place::Away => self.state.next(cpu, &[Part::Enqueue(task)]),
            Place::Current(_) => self.state.next(cpu, &[Part::Running(task)]),
            _ => {}
        }
        let enable = self.enable_again(task);
        self.state.next(cpu, &enable);
    }

    /// scx_disable_workfn, for one thread with its run queue locked: the thread is put into the fair class.
    fn end_run_for(&mut self, cpu: usize, task: usize) {
        let it = &mut self.state.tasks[task];
        if !matches!(it.life, Life::Alive | Life::Dead) {
            self.state.next(cpu, &[Part::UnlockRunQueue]); // It has gone, or is about to.
            return;
        }
        it.life = Life::Ending;
        let leave = (!it.is_away).then_some(Part::LeaveClass(task));
        let parts = [Part::Dequeue(task)].into_iter().chain(leave).chain(self.exit_task(task));
        let parts: Vec<Part> = parts.collect();
        self.state.next(cpu, &parts);
    }

    /// engine_exit_task, bpf/threads.h, and the end of the thread, or of what sched_ext has to do with it.
    pub(crate) fn exit_task(&self, task: usize) -> Vec<Part> {
        let vp = self.state.tasks[task].stored;
        let drop = self.orders.exit_drops_first.then_some(Part::DropTask(vp));
        let rest = [Part::Lock(Section::Detach(task)), Part::Forget(task), Part::UnlockRunQueue];
        drop.into_iter().chain(rest).collect()
    }

    /// The timer stays started: only its function is another one.
    fn take_over_timer(&mut self, cpu: usize) {
        self.state.cpus[cpu].engine ^= 1;
        self.state.cpus[cpu].timer &= self.orders.take_over_keeps_timers;
    }

    /// seal(), bpf/lock.h.
    fn seal(&mut self) {
        if let Lock::Held(holder) = self.state.lock {
            self.state.sealed_while_held_by = Some(holder);
        }
        self.state.lock = Lock::Sealed;
        self.state.was_sealed = true;
    }

    fn move_queued(&mut self, cpu: usize, task: usize) {
        let it = self.state.tasks[task];
        if !self.state.may_use(task, it.run_queue) && is_queued(it.place) {
            self.take_out(cpu, task);
            self.state.tasks[task].run_queue = self.state.queue_for(task).unwrap_or(it.run_queue);
            self.unlock_run_queues(cpu);
            self.state.next(cpu, &[Part::LockRunQueueOf(task), Part::Enqueue(task)]);
        }
    }

    /// push_cpu_stop, on a CPU that is leaving: select_fallback_rq gives the thread all CPUs if it may use no other.
    pub(crate) fn push(&mut self, cpu: usize, task: usize) {
        if self.state.tasks[task].is_away {
            self.state.tasks[task].place = Place::Away;
            self.state.cpus[cpu].current = None;
            self.state.cpus[cpu].resched = true;
        } else if self.state.queue_for(task).is_some() {
            self.migrate(cpu, task);
        } else {
            let all = (1 << CPUS) - 1;
            let widen = [Part::LockRunQueueOf(task), Part::Dequeue(task), Part::Affine(task, all)];
            self.state.next(cpu, &[&widen[..], &[Part::UnlockRunQueue]].concat());
        }
    }

    /// migration_cpu_stop, on a CPU with a thread that may not use it any more.
    pub(crate) fn migrate(&mut self, cpu: usize, task: usize) {
        self.take_out(cpu, task);
        let queue = self.state.queue_for(task);
        let it = &mut self.state.tasks[task];
        it.run_queue = queue.unwrap_or(it.run_queue);
        if self.state.cpus[cpu].current == Some(task) {
            self.state.cpus[cpu].current = None;
        }
        self.state.cpus[cpu].resched = true;
        let parts = [Part::LockRunQueueOf(task), Part::Enqueue(task), Part::UnlockRunQueue];
        self.state.next(cpu, &parts);
    }
}

/// Whether a thread is in a queue, of the kernel's or of the engine's.
fn is_queued(place: Place) -> bool {
    matches!(place, Place::WithEngine | Place::Deferred(_) | Place::Local(_) | Place::Global)
}
