//! The test of requests: against its definition, and against schedulers that are wrong.

mod definition;
mod slots;
mod wrong_schedulers;
