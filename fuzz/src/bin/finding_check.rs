#![no_main]
delaylab_fuzz::fuzz!(finding_check);
