#![no_main]
delaylab_fuzz::fuzz!(dns_answer);
