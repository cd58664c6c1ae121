//! All tests of the calculus through its public interface, in one binary, because each takes a second to link.

mod admission;
mod composition;
mod corners;
mod enumeration;
mod execution;
mod jobs;
mod mend;
mod numbers;
mod support;
mod tasks;
mod text;
mod together;
