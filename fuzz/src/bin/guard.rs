#![no_main]
delaylab_fuzz::fuzz!(guard);
