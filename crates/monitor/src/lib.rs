//! What an engine reports of a run: the stream of records while it lasts and the result when it ends.
//!
//! The simulator and the kernel engine both produce this, and every report, trace and picture is made from it, so
//! that what is shown of a simulated run and of a real one is the same thing. [`observe`] turns the stream into the
//! result, with the help of [`histogram`], [`windows`], [`requests`] and
//! [`demand`]. Does no IO.

mod account;
mod breach;
mod curve;
pub mod demand;
pub mod event;
pub mod histogram;
mod job;
mod judge;
mod lag;
pub mod observe;
mod owed;
mod promise;
pub mod promises;
pub mod requests;
pub mod result;
pub mod windows;
