//! Creates and destroys a scheduler with all of its VPs. This takes several changes of the engine: if one of them
//! fails, the earlier ones are undone. Relies on the engine to make each change whole or not at all.

use crate::engine::{EngineError, HierarchyChange, Promisee, RunningEngine};
use crate::error::{Error, after_undoing, not_taken};
use crate::tree::{Scheduler, Tree};
use hls_core::{CoreScheduler, CoreVp, Params};
use hls_units::Nanos;

/// Has the engine create a scheduler and attach it below its parent with `width` VPs, or leaves everything as it was.
pub(crate) fn build(
    engine: &mut impl RunningEngine,
    name: &str,
    (policy, own): (u8, Params),
    (above, params): (&Scheduler, Params),
    width: u16,
) -> Result<(CoreScheduler, Vec<CoreVp>), Error> {
    let create = HierarchyChange::CreateScheduler { name: name.into(), policy, params: own };
    let scheduler = engine.change(create)?.scheduler()?;
    let mut vps = Vec::new();
    while vps.len() < usize::from(width) {
        match attach(engine, above.id, scheduler, params) {
            Ok(vp) => vps.push(vp),
            Err(error) => {
                let undone = vps.into_iter().try_for_each(|vp| detach(engine, vp));
                let undone = undone.and_then(|()| destroy(engine, scheduler));
                return Err(after_undoing(not_taken(error, (&above.name, above.policy), &params.0), undone));
            }
        }
    }
    Ok((scheduler, vps))
}

/// Has the engine destroy `scheduler` of the tree, or leaves everything as it was except the numbers of its VPs.
pub(crate) fn tear_down(
    engine: &mut impl RunningEngine,
    tree: &mut Tree,
    number: usize,
    scheduler: &Scheduler,
) -> Result<(), Error> {
    let vps = || scheduler.above.iter().flat_map(|above| &above.vps);
    let mut detached = 0;
    let done = vps().try_for_each(|vp| detach(engine, *vp).map(|()| detached += 1));
    let Err(error) = done.and_then(|()| destroy(engine, scheduler.id)) else {
        return Ok(());
    };
    let parents: Vec<CoreScheduler> =
        scheduler.above.iter().map(|above| core_number(tree, above.parent)).collect();
    let Some(known) = tree.schedulers[number].as_mut() else { return Err(error.into()) };
    let (mut undone, mut back) = (Ok(()), Vec::new());
    for (above, parent) in known.above.iter_mut().zip(parents) {
        let at = (above.edge, above.vps.len());
        for vp in above.vps.iter_mut().take(detached) {
            match attach(engine, parent, scheduler.id, above.params) {
                Ok(again) => (*vp, _) = (again, back.push((again, at))),
                Err(error) => undone = Err(error),
            }
        }
        detached = detached.saturating_sub(above.vps.len());
    }
    for (vp, at) in back {
        engine.promise(Promisee::Scheduler(vp), &tree.promised_to_each(at), Nanos::ZERO);
    }
    Err(after_undoing(error.into(), undone))
}

fn attach(
    engine: &mut impl RunningEngine,
    parent: CoreScheduler,
    child: CoreScheduler,
    params: Params,
) -> Result<CoreVp, EngineError> {
    engine.change(HierarchyChange::AttachScheduler { parent, child, params })?.vp()
}

fn detach(engine: &mut impl RunningEngine, vp: CoreVp) -> Result<(), EngineError> {
    engine.change(HierarchyChange::DetachScheduler { vp }).map(drop)
}

fn destroy(engine: &mut impl RunningEngine, scheduler: CoreScheduler) -> Result<(), EngineError> {
    engine.change(HierarchyChange::DestroyScheduler { scheduler }).map(drop)
}

/// The core's number of a parent; 0, which is none, for the machine.
fn core_number(tree: &Tree, at: Option<usize>) -> CoreScheduler {
    at.and_then(|at| tree.scheduler(at)).map_or(CoreScheduler(0), |scheduler| scheduler.id)
}
