#![no_main]
delaylab_fuzz::fuzz!(trace_page);
