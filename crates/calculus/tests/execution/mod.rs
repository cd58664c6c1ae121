//! The admission tests of the schedulers against execution in unit slots: servers, queues and tables as the papers
//! describe them, children that block and wake at random, and a parent that withholds what it may.

mod agents;
mod leftovers;
mod machine;
mod reserves;
mod servers;
mod several_cpus;
mod shares;
mod slower;
mod tables;
mod turns;
