#![no_main]
delaylab_fuzz::fuzz!(test_frame);
