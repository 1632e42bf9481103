//! The binary, end to end: real processes, sockets and networks.
//!
//! | module | shows |
//! |---|---|
//! | [`adversity`] | full queues, sessions that end, readers that wait |
//! | [`bench`] | device benchmarks: every procedure, devices that misbehave, live interfaces |
//! | [`calibrate`] | a path is found again, and what a change does to it predicted |
//! | [`capture`] | departures and packets are what tcpdump sees |
//! | [`cells`] | cells on a line are found, and none where there are none |
//! | [`compare`] | what changed between two runs, and what must not have |
//! | [`condition`] | host conditions leave nothing behind |
//! | [`culprits`] | random processes that disturb are named, with period and share |
//! | [`documents`] | every document keeps to its schema, and to one vocabulary |
//! | [`errors`] | errors name the thing and the remedy |
//! | [`experiments`] | experiments: killed, stopped, damaged, compared |
//! | [`export`] | one figure or table of a run in a file |
//! | [`flips`] | a flipped bit of a run is said, or changes nothing; links and devices in runs |
//! | [`explain_against`] | one run is held against another |
//! | [`help`] | `--help`, man pages, completions, schemas |
//! | [`import`] | what other tools printed becomes a run, and what is wrong with it is said |
//! | [`interwork`] | senders, reflectors and echo servers that are not ours |
//! | [`keys`] | which keys a reflector takes, and how they are changed |
//! | [`load_down`] | load that a reflector sends |
//! | [`measured`] | a run that is the measured part of another |
//! | [`methods`] | every method, size, mark, pacing and kind of loss |
//! | [`planted`] | a delay shows in the stage where it was planted, and in no other |
//! | [`refusals`] | ICMP errors keep their meaning, and who sent them |
//! | [`saved`] | a ping that is saved is a run |
//! | [`scripted`] | `ping` in scripts: conditions, one line, full disks |
//! | [`servers`] | servers of any make: network or server? |
//! | [`shards`] | a simulation in shards is the same run |
//! | [`simulations`] | simulations are the same every time |
//! | [`terminals`] | terminals that can do little, and terminals that go |
//! | [`testbeds`] | testbeds: every topology and queue, and nothing left behind |
//! | [`trace`] | paths by class, through invented routers and real ones |
//! | [`tui`] | the live view, on a terminal |

mod adversity;
mod bench;
mod calibrate;
mod capture;
mod cells;
mod compare;
mod condition;
mod culprits;
mod documents;
mod errors;
mod experiments;
mod explain;
mod explain_against;
mod export;
mod flips;
mod help;
mod import;
mod interwork;
mod keys;
mod load;
mod load_down;
mod measured;
mod methods;
mod planted;
mod refusals;
mod saved;
mod scripted;
mod servers;
mod shards;
mod simulations;
mod terminals;
mod testbeds;
mod trace;
mod tui;
