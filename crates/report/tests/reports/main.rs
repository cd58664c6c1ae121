//! The reports of whole runs.

mod golden;
mod hostile;
mod support;
mod trace;
