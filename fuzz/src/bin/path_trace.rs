#![no_main]
delaylab_fuzz::fuzz!(path_trace);
