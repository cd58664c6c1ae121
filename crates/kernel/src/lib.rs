//! Hierarchies on a real Linux kernel: whether it can run them ([`doctor`]).

pub mod doctor;
