//! Gets the pages of user-level schedulers from the engine, for the code that hands them over. Relies on the engine
//! to make them.

use hls_client::Pages;
use hls_control::EngineError;
use hls_core::CoreScheduler;
use hls_kernel_engine::Engine;

/// New pages of a scheduler.
pub fn make_pages(engine: &mut Engine, scheduler: CoreScheduler) -> Result<Pages, EngineError> {
    let made = engine.make_pages(scheduler).map_err(|error| EngineError::Failed(error.to_string()))?;
    Ok(Pages { kernel: made.kernel, user: made.user })
}
