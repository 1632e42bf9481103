#![no_main]
delaylab_fuzz::fuzz!(request);
